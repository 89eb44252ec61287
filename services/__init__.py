"""The use cases that the API, the pages, the commands and the worker share."""
