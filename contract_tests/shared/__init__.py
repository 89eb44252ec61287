"""Tests of a service with the usual settings. The modules share it."""
