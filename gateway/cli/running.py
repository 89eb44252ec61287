"""Where ``gateway up`` runs, so that commands on the same DATA_DIR find it.

Its addresses may come from options, which a command in another terminal knows nothing of.
"""

import json
import os

from gateway.settings import PREFIX, Settings

FILE = "up.json"
ADDRESSES = ("public_url", "sandbox_port")


def announce(settings: Settings) -> None:
    """Leave word that this process runs the service on DATA_DIR."""
    word = {"pid": os.getpid()} | {name: getattr(settings, name) for name in ADDRESSES}
    (settings.data_dir / FILE).write_text(json.dumps(word), encoding="utf-8")


def withdraw(settings: Settings) -> None:
    """Take the word back."""
    (settings.data_dir / FILE).unlink(missing_ok=True)


def join(settings: Settings) -> None:
    """Where ``settings`` leave an address open, take that of the service that runs on DATA_DIR.

    It goes to the environment, so that settings that are read from now on have it.
    """
    try:
        word = json.loads((settings.data_dir / FILE).read_bytes())
        os.kill(word["pid"], 0)
    except (OSError, ValueError):
        # Nothing runs there, or what ran was killed.
        return
    for name in set(ADDRESSES) - settings.model_fields_set:
        os.environ[PREFIX + name.upper()] = str(word[name])
