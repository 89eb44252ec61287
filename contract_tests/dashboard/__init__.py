"""The dashboard. The modules share a service and a browser."""
