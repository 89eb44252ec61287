"""PostgreSQL, PgBouncer and Redis with the certificates of deploy/compose.yaml prove their names."""

import subprocess
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import yaml
from peewee import OperationalError
from redis import Redis, RedisError

from contract_tests.harness import free_port
from contract_tests.servers import PgBouncer, PostgresServer, RedisServer, chown_to_postgres
from models import database
from models.database.redis_pool import open_pool
from tests.deployment import DEPLOY, SERVER_SETTINGS

SECONDS = 5
SETTINGS: dict[str, str] = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]["web"][
    "environment"
]


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A folder with a certificate of ``localhost``, made by the script of deploy/compose.yaml."""
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text())["services"]
    *shell, script = services["certificates"]["command"]
    scratch = tmp_path_factory.mktemp("scratch")
    # The user of PostgreSQL cannot read pytest's folders.
    with TemporaryDirectory(prefix="gateway-certificates-") as name:
        places = {"$$": "$", "/tmp": str(scratch), "/certificates": name}  # noqa: S108 - of a container
        for here, there in ({"postgres pgbouncer redis": "localhost"} | places).items():
            script = script.replace(here, there)
        subprocess.run([*shell, script], check=True, capture_output=True)
        made = {path.name: path.stat().st_mode & 0o777 for path in Path(name).iterdir()}
        assert made == {"authority.pem": 0o644, "localhost.key": 0o600, "localhost.pem": 0o600}
        for path in (Path(name), *Path(name).iterdir()):
            chown_to_postgres(path)
        yield Path(name)


@pytest.fixture(scope="module")
def urls(certificates: Path) -> Iterator[dict[str, str]]:
    """The URLs of deploy/compose.yaml, with the addresses of real servers."""
    certificate, key = (str(certificates / f"localhost.{end}") for end in ("pem", "key"))
    tls_port = free_port()
    authority = str(certificates / "authority.pem")
    with (
        PostgresServer(ssl="on", ssl_cert_file=certificate, ssl_key_file=key) as postgres,
        PgBouncer(
            postgres,
            client_tls_sslmode="require",
            # It connects to an address.
            server_tls_sslmode="verify-ca",
            server_tls_ca_file=authority,
            client_tls_cert_file=certificate,
            client_tls_key_file=key,
        ) as bouncer,
        RedisServer(
            tls_port=str(tls_port),
            tls_cert_file=certificate,
            tls_key_file=key,
            tls_auth_clients="no",
        ),
    ):
        postgres.database("gateway")
        ports = dict(zip(SERVER_SETTINGS, (bouncer.port, tls_port, tls_port), strict=True))
        yield {
            name: _moved(SETTINGS[name], port).replace("/certificates", str(certificates))
            for name, port in ports.items()
        }


def _moved(url: str, port: int) -> str:
    """The URL of a server at this port of ``localhost``, which needs no password."""
    scheme, path = url.partition("://")[0], url.rpartition("@")[2].partition("/")[2]
    user = "postgres@" if scheme == "postgresql" else ""
    return f"{scheme}://{user}localhost:{port}/{path}"


def _connect(urls: dict[str, str]) -> None:
    connected = database.connect(urls["GATEWAY_DATABASE_URL"])
    try:
        with database.reading():
            pass
    finally:
        connected.close_all()


def _ping(url: str) -> None:
    with Redis.from_pool(open_pool(url, SECONDS)) as client:
        client.ping()


def test_the_settings_of_the_example_connect(urls: dict[str, str]) -> None:
    _connect(urls)
    for name in SERVER_SETTINGS[1:]:
        _ping(urls[name])


def test_a_server_whose_certificate_has_another_name_is_refused(urls: dict[str, str]) -> None:
    others = {name: url.replace("localhost:", "127.0.0.1:") for name, url in urls.items()}
    with pytest.raises(OperationalError):
        _connect(others)
    for name in SERVER_SETTINGS[1:]:
        with pytest.raises(RedisError):
            _ping(others[name])
