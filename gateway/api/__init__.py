"""The contract at work: its operations, and how a request is checked and handed to its handler."""
