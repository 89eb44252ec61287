"""The web pages for people. What they do, they do through tasks and models, as the handlers do."""
