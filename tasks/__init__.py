"""Background work, on Huey. Tasks carry identifiers only. The database is the source of truth."""
