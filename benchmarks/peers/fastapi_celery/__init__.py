"""A typical send service: FastAPI with a plain ``def``, SQLAlchemy on SQLite, Celery on Redis.

Its steps and their order are ours: it holds no transaction during the network's request, and a claimed key
never sends again. It has no status history, no metrics and no request log.
"""
