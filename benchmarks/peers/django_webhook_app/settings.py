"""Django with django-webhook, tuned: SQLite in WAL mode like ours, and persistent connections."""

import os

SECRET_KEY = "of-the-benchmarks-and-of-nothing-else"  # noqa: S105 - it protects nothing
INSTALLED_APPS = ["django.contrib.contenttypes", "django_webhook"]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.sqlite3",
        "NAME": os.environ["DATABASE"],
        "CONN_MAX_AGE": None,
        "OPTIONS": {
            "transaction_mode": "IMMEDIATE",
            "timeout": 30,
            "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
        },
    }
}
USE_TZ = True
DJANGO_WEBHOOK: dict[str, list[str]] = {"MODELS": []}
