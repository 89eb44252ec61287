"""The HTML of the phones. Depends on conversations, not on the network or requests."""
