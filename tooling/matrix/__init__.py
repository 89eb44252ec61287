"""``make matrix``: the tests on every supported version of Python and of the databases."""
