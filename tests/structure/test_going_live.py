"""docs/going-live.md names all settings that production needs, and only existing ones."""

import re
from pathlib import Path

from gateway.settings import NETWORK_IDS, NETWORK_SECRETS, PREFIX, Settings

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "going-live.md").read_text()
NAMED = set(re.findall(rf"\b{PREFIX}([A-Z_]+[A-Z])\b", PAGE))
ENV_FILE = set(re.findall(rf"^{PREFIX}([A-Z_]+)=", PAGE, re.MULTILINE))


def test_every_setting_that_is_named_exists() -> None:
    assert sorted(NAMED - {name.upper() for name in Settings.model_fields}) == []


def test_the_file_of_settings_has_all_that_the_real_platform_needs() -> None:
    needed = {name.upper() for name in (*NETWORK_SECRETS, *NETWORK_IDS)}
    assert needed | {"PUBLIC_URL", "SECRET_KEY", "NETWORK_URL"} <= ENV_FILE
