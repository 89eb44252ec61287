"""docs/going-live.md names all settings that production needs, and only existing ones."""

import re
from pathlib import Path

from gateway.settings import NETWORK_IDS, NETWORK_SECRETS, PREFIX, Settings
from networks.whatsapp.subscriptions import FIELDS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "going-live.md").read_text()
NAMED = set(re.findall(rf"\b{PREFIX}([A-Z_]+[A-Z])\b", PAGE))
# The first column of the table of fields.
CALLBACKS = PAGE.split("| Field | Reports |")[1].split("\n\n")[0]
SUBSCRIBED = [re.findall(r"`(\w+)`", row.split("|")[1]) for row in CALLBACKS.splitlines()[2:]]
ENV_FILE = set(re.findall(rf"^{PREFIX}([A-Z_]+)=", PAGE, re.MULTILINE))


def test_every_setting_that_is_named_exists() -> None:
    assert sorted(NAMED - {name.upper() for name in Settings.model_fields}) == []


def test_the_file_of_settings_has_all_that_the_real_platform_needs() -> None:
    needed = {name.upper() for name in (*NETWORK_SECRETS, *NETWORK_IDS)}
    assert needed | {"PUBLIC_URL", "SECRET_KEY", "NETWORK_URL"} <= ENV_FILE


def test_the_page_lists_each_field_of_callbacks_that_the_code_handles() -> None:
    assert sorted(name for names in SUBSCRIBED for name in names) == sorted(FIELDS)
