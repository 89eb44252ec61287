"""The objects of the contract: typed functions from rows, for the API, events and pages."""
