"""The keys of the application's parts, for use in requests."""

from __future__ import annotations

from aiohttp import web

from sandbox.callbacks import Outbox
from sandbox.dispatch import Dispatcher
from sandbox.network import Network
from sandbox.settings import Settings
from sandbox.templates_review import Reviewer
from sandbox.timetable import Timetable

SETTINGS = web.AppKey("settings", Settings)
NETWORK = web.AppKey("network", Network)
OUTBOX = web.AppKey("outbox", Outbox)
DISPATCHER = web.AppKey("dispatcher", Dispatcher)
TIMETABLE = web.AppKey("timetable", Timetable)
REVIEWER = web.AppKey("reviewer", Reviewer)
