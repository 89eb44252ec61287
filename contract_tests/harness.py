"""Re-exports the helpers with which tests of the running service start and wait."""

from contract_tests.receiver import Received, Receiver, Reply
from contract_tests.service import ROOT, Customer, Gateway, running
from contract_tests.waiting import START_SECONDS, WAIT_SECONDS, free_port, wait_for

__all__ = [
    "ROOT",
    "START_SECONDS",
    "WAIT_SECONDS",
    "Customer",
    "Gateway",
    "Received",
    "Receiver",
    "Reply",
    "free_port",
    "running",
    "wait_for",
]
