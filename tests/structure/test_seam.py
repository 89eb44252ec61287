"""Only networks/whatsapp knows the field names of the Graph API, error codes and states."""

import re
import subprocess
from pathlib import Path
from typing import get_args

from gateway.settings import Settings
from networks.registry import NETWORKS
from tests.networks.test_conformance import MAKERS

ROOT = Path(__file__).parents[2]
ROOMS = (
    *("gateway", "handlers", "dashboard", "services", "resources", "models", "tasks", "webhooks"),
    *("networks/exceptions", "networks/interface", "networks/items"),
)
WORDS = re.compile(
    r"biz_opaque|messaging_product|\bhub\.|graph\.facebook|\b1[23][0-9]{4}\b|DISABLED_UPDATE|PARTNER_[A-Z]"
    r"|ACCOUNT_(?:DELETED|OFFBOARDED|RECONNECTED|VIOLATION|RESTRICTION)|UNVERIFIED|MIGRATED|_update\""
    r"|max_daily_conversations|ban_info|waba_ban|waba_info|granular_scopes|whatsapp_business_"
)
# Commands about the sandbox, which is a WhatsApp. Migrations never change.
ABOUT_WHATSAPP = {"gateway/cli/sandbox.py", "gateway/cli/trigger.py"}


def _modules() -> list[str]:
    listed = subprocess.run(
        ["git", "ls-files", *(f"{room}{end}" for room in ROOMS for end in ("/*.py", ".py"))],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    ).stdout.split()
    return [path for path in listed if "/migrations/" not in path and (ROOT / path).is_file()]


def test_each_network_can_be_chosen_is_documented_and_meets_the_conformance_tests() -> None:
    choices = get_args(Settings.model_fields["network"].annotation)
    assert set(choices) == NETWORKS.keys() == MAKERS.keys()
    documented = (ROOT / "docs/configuration.md").read_text()
    assert [name for name in choices if f"`{name}`" not in documented] == []


def test_no_other_room_knows_the_words_of_whatsapp() -> None:
    found = {path for path in _modules() if WORDS.search((ROOT / path).read_text())}
    assert found - ABOUT_WHATSAPP == set()


def test_the_words_are_found() -> None:
    callbacks = (ROOT / "networks/whatsapp/callbacks.py").read_text()
    codes = (ROOT / "networks/whatsapp/error_codes.py").read_text()
    assert WORDS.search(callbacks)
    assert WORDS.search(codes)
