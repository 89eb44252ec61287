"""What we are measured against. It runs in benchmarks/peers/.venv, which has none of our packages."""
