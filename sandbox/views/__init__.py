"""What a phone shows, as HTML. Knows conversations, neither the network nor requests."""
