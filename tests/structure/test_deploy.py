"""deploy/ uses only settings, commands and files that exist, and allows enough time for a stop."""

import re
from pathlib import Path

import pytest
from flask import Flask

from dashboard import connect, urls
from gateway.api import contract
from gateway.api.operations import BASE, CALLBACK_LIMIT, MEBIBYTE, UPLOAD_LIMIT
from gateway.http.connections import MAX_HEADER_BYTES, Bounds
from gateway.settings import NETWORK_IDS, NETWORK_SECRETS, PREFIX, Settings, find_mistakes
from tests.deployment import DEPLOY, STOP_SECONDS, find, parse

FILES = sorted(path for path in DEPLOY.rglob("*") if path.is_file())
UNITS = sorted((DEPLOY / "systemd").glob("*.service"))
# The values that an operator fills in, in the test of each example. Empty values mean the defaults.
EXAMPLES = {
    "systemd and containers": ["gateway.env.example"],
    "kubernetes": ["settings.env", "secret.env.example"],
}
FILLED_IN = dict.fromkeys(NETWORK_SECRETS, "s" * 32) | dict.fromkeys(NETWORK_IDS, "1")
# A command on a separate line, in a unit, or as code within a sentence.
TYPED = re.compile(r"(?:/opt/gateway/bin/|^ *|`|web )gateway ((?:[a-z-]+ ?)+)", re.MULTILINE)


def _name(path: Path) -> str:
    return path.relative_to(DEPLOY).as_posix()


@pytest.mark.parametrize("path", FILES, ids=_name)
def test_every_setting_that_is_named_exists(path: Path) -> None:
    named = set(re.findall(rf"\b{PREFIX}([A-Z_]+[A-Z])\b", path.read_text()))
    assert sorted(named - {name.upper() for name in Settings.model_fields}) == []


@pytest.mark.parametrize("path", [DEPLOY / "README.md", *UNITS], ids=_name)
def test_every_command_that_is_named_exists(path: Path) -> None:
    found = TYPED.findall(path.read_text())
    assert found
    for words in found:
        assert find(words.split()) is not None, words


@pytest.mark.parametrize("path", UNITS, ids=_name)
def test_a_unit_starts_a_command_with_options_that_it_has(path: Path) -> None:
    (line,) = re.findall(
        r"^ExecStart=/opt/gateway/bin/gateway (.+)$", path.read_text(), re.MULTILINE
    )
    assert path.stem == f"gateway-{line.split()[0]}"
    parse(line.split())


@pytest.mark.parametrize("path", UNITS, ids=_name)
def test_a_unit_waits_for_a_stop_as_long_as_it_may_take(path: Path) -> None:
    (seconds,) = re.findall(r"^TimeoutStopSec=(\d+)$", path.read_text(), re.MULTILINE) or ["90"]
    assert int(seconds) > STOP_SECONDS


@pytest.mark.parametrize("path", UNITS, ids=_name)
def test_a_unit_gives_up_all_rights_that_it_does_not_need(path: Path) -> None:
    lines = path.read_text().splitlines()
    needed = {"NoNewPrivileges=yes", "CapabilityBoundingSet=", "ProtectSystem=strict"}
    assert needed | {"User=gateway", "PrivateTmp=yes", "UMask=0077"} <= set(lines)


def _read(names: list[str]) -> dict[str, str]:
    """The settings of the examples, by their names."""
    lines = [line for name in names for line in next(DEPLOY.rglob(name)).read_text().splitlines()]
    return dict(line.split("=", 1) for line in lines if not line.startswith("#"))


@pytest.mark.parametrize("names", EXAMPLES.values(), ids=EXAMPLES)
def test_an_example_has_every_setting_that_production_needs(
    names: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = _read(names)
    assert {PREFIX + name.upper() for name in FILLED_IN} <= set(given)
    for name, value in given.items():
        monkeypatch.setenv(name, FILLED_IN.get(name.removeprefix(PREFIX).lower(), value))
    # An installation must not start with the placeholder as its key.
    [mistake] = find_mistakes()
    assert mistake.startswith("GATEWAY_SECRET_KEY ")
    monkeypatch.setenv("GATEWAY_SECRET_KEY", "k" * 32)
    assert find_mistakes() == []


def test_the_proxy_has_the_gateways_limits_of_heads_bodies_and_times() -> None:
    text = (DEPLOY / "nginx.conf").read_text()
    server = dict(re.findall(r"^    (\w+) ([^;{]+);$", text, re.MULTILINE))
    bounds = Bounds()
    assert server["client_header_timeout"] == f"{bounds.head}s"
    assert server["client_body_timeout"] == f"{bounds.piece}s"
    assert server["send_timeout"] == f"{bounds.unread}s"
    assert server["large_client_header_buffers"] == f"4 {MAX_HEADER_BYTES // 1024}k"
    assert server["client_max_body_size"] == "1m"
    locations = re.findall(r"location (\S+ \S+) \{([^}]+client_max_body_size (\d+)m;[^}]+)\}", text)
    assert {path: int(size) for path, _, size in locations} == {
        "~ ^/api/numbers/[^/]+/media$": -(-UPLOAD_LIMIT // MEBIBYTE),
        "= /network/callback": CALLBACK_LIMIT // MEBIBYTE,
        "~ ^/dashboard/inbox/[^/]+/media$": -(-UPLOAD_LIMIT // MEBIBYTE),
    }


def test_the_files_that_a_page_refers_to_exist() -> None:
    links = re.findall(r"\]\(([^)#]+)\)", (DEPLOY / "README.md").read_text())
    assert links
    assert [link for link in links if not (DEPLOY / link).exists()] == []


SECRET = "quagga"
PARAMETER = re.compile(r"[<{](slug|token)[>}]")
NGINX = (DEPLOY / "nginx.conf").read_text()


def _secret_paths() -> list[str]:
    """The path of every route with a secret in it, of pages and of the contract."""
    app = Flask("pages")
    for blueprint in (connect.blueprint, urls.blueprint):
        app.register_blueprint(blueprint)
    routes = [
        *map(str, app.url_map.iter_rules()),
        *(BASE + path for path in contract.load()["paths"]),
    ]
    return [PARAMETER.sub(SECRET, route) for route in routes if PARAMETER.search(route)]


@pytest.mark.parametrize("path", sorted(set(_secret_paths())))
def test_no_sample_of_a_proxy_logs_a_secret_path(path: str) -> None:
    (logged,) = re.findall(
        r'^map \$uri .*?"~(\S+)" "\$\{let_in\}\*";', NGINX, re.MULTILINE | re.DOTALL
    )
    shown = re.match(logged.replace("(?<", "(?P<"), path)
    assert shown is not None
    assert SECRET not in shown["let_in"]
    quiet = re.findall(r"location ~ (\S+) \{\n *error_log \S+ crit;", NGINX)
    assert any(re.match(each, path) for each in quiet)
    requirements = (DEPLOY.parent / "docs" / "going-live.md").read_text()
    assert f"`{path.partition(SECRET)[0]}`" in requirements
