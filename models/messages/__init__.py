"""Messages, the people they are to and from, their templates and search."""
