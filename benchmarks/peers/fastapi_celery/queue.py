"""The queue: Celery on Redis. Nobody works on it here, as nobody works on ours while sends are measured."""

import os

from celery import Celery

app = Celery("fastapi_celery", broker=os.environ["BROKER_URL"])
app.conf.update(task_ignore_result=True)


@app.task
def deliver(delivery_id: str) -> None:
    """Deliver what waits under this identifier."""
    raise NotImplementedError(delivery_id)
