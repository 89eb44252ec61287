"""The Celery application in which django-webhook's own task runs, over its own models."""

import os

import django
from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "benchmarks.peers.django_webhook_app.settings")
django.setup()

app = Celery("django_webhook_app", broker=os.environ["BROKER_URL"])
app.conf.update(
    task_ignore_result=True,
    worker_disable_rate_limits=True,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
    imports=["django_webhook.tasks"],
)
app.set_default()
