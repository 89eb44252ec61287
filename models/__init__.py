"""State: one module per aggregate, with its table, its queries and its state transitions."""
