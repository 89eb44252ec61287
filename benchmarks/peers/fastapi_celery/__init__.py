"""A send as many would write it: FastAPI with a plain ``def``, SQLAlchemy on SQLite, Celery on Redis.

The same steps as ours, and the same order: nothing is held while the network is asked, and a key that
was claimed never sends again. It keeps no status history, no metrics and no log of requests.
"""
