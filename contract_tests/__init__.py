"""Tests of the running service, as its clients see it.

A folder whose modules share a service is a package: fixtures of that scope end with the last module.
"""
