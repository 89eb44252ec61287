"""A local messaging network that speaks the WhatsApp Business Cloud API wire protocol.

It runs as its own process (``python -m sandbox``) and is configured by environment variables only. It
imports nothing from the rest of the repository. Its wire format is the same as the platform's.
"""
