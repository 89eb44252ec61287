"""``make mutants``: do the tests notice a fault in the modules that decide? (CONTRIBUTING.md)."""
