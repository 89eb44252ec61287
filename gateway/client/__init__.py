"""Reads an account's events in another program: ``from gateway.client import Events`` (docs/events.md).

It needs only requests, and imports nothing of the service.
"""

from gateway.client.connection import ResponseError as ResponseError
from gateway.client.events import Events as Events
from gateway.client.events import Record as Record
