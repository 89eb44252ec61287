"""The web pages for people. Like the handlers, they act through tasks and models."""
