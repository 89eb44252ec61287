"""The SDKs against the running service. The modules share it."""
