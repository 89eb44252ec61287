"""The signup page. The modules share a service and a browser."""
