"""The rules of the API. The modules share services."""
