"""The queue, Celery on Redis. Like the gateway, it has no worker while sends are measured."""

import os

from celery import Celery

app = Celery("fastapi_celery", broker=os.environ["BROKER_URL"])
app.conf.update(task_ignore_result=True)


@app.task
def deliver(delivery_id: str) -> None:
    """Send the delivery with this identifier."""
    raise NotImplementedError(delivery_id)
