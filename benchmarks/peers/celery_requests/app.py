"""Deliveries as most services start: a Celery task that signs and posts with a kept session.

It has no claims and no log. Results, gossip and rate limits are disabled, because they cost time.
"""

import os

import requests
from celery import Celery
from celery.signals import worker_process_init

from benchmarks.peers.signing import kept_session, signed_post

app = Celery("celery_requests", broker=os.environ["BROKER_URL"])
app.conf.update(
    task_ignore_result=True,
    worker_disable_rate_limits=True,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
)
_session: requests.Session | None = None


@worker_process_init.connect
def open_session(**_: object) -> None:
    """One session for each process of the pool."""
    global _session  # noqa: PLW0603 - Celery's own pattern for what a process keeps
    _session = kept_session()


@app.task(max_retries=3)
def deliver(url: str, body: str) -> None:
    """Send one delivery. A failed one is retried, like ours."""
    if _session is None:
        raise RuntimeError("The worker was not initialised.")
    try:
        signed_post(_session, url, body)
    except requests.RequestException as error:
        raise deliver.retry(exc=error, countdown=30) from error
