"""A messaging network inside the process, for tests and for trying the API alone."""
