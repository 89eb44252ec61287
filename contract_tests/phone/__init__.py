"""The sandbox's page. The modules share a service and a browser."""
