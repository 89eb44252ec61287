"""A service whose connection to the network can be cut. The modules have a service each."""
