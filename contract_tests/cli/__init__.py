"""The command line. The modules share a service."""
