"""Work for later, on Huey. Tasks carry identifiers only; the database is the truth."""
