"""A local messaging network that speaks the WhatsApp Business Cloud API wire protocol.

It runs as its own process (``python -m sandbox``), is configured by environment variables only, and
imports nothing of the rest of the repository: a client cannot tell it from the platform by the
bytes on the wire.
"""
