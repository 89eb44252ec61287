"""The peers and baselines of the benchmarks. They run in benchmarks/peers/.venv, without our packages."""
