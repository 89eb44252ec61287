"""What the settings mean: the documented defaults, and what follows from one another."""

import stat
from pathlib import Path

import pytest
from psycopg.conninfo import conninfo_to_dict
from redis import ConnectionPool

from gateway.settings import Settings, SettingsError, load_settings
from models import database
from tests import factories
from tests.conftest import Configure


def test_the_defaults_are_the_specifications(configure: Configure) -> None:
    settings = configure()
    assert settings.plan_limits == {"starter": 100, "pro": 500, "anonymous": 100}
    assert settings.webhook_limits == {"starter": 20, "pro": 100}
    assert settings.webhook_request_limits == {"starter": 30_000, "pro": 600_000}
    assert settings.webhook_byte_limits == {"starter": 64, "pro": 1_024}
    assert settings.storage_limits == {"starter": 2_048, "pro": 20_480}
    assert settings.user_limits == {"starter": 10, "pro": 100}
    assert settings.delivery_timeout == 10
    assert settings.deactivate_after == 10
    assert settings.retry_schedule == (30, 300, 1800)


def test_all_files_are_in_the_data_folder_by_default(configure: Configure, tmp_path: Path) -> None:
    settings = configure(DATA_DIR="data")
    assert settings.data_dir == tmp_path / "data"
    assert settings.database_url == f"sqlite://{tmp_path}/data/gateway.db"
    assert settings.queue_url == f"sqlite://{tmp_path}/data/queue.db"
    assert configure(DATABASE_URL="sqlite:///elsewhere.db").database_url == "sqlite:///elsewhere.db"


@pytest.mark.parametrize("folder", ["data", "my data", "100%25", "a?b", "ü"])
def test_the_database_is_in_a_data_folder_with_any_name(
    configure: Configure, tmp_path: Path, folder: str
) -> None:
    settings = configure(DATA_DIR=folder)
    connected = database.connect(settings.database_url)
    database.migrate()
    connected.close()
    assert (tmp_path / folder / "gateway.db").exists()


def test_a_plan_that_is_not_named_keeps_its_limit(configure: Configure) -> None:
    settings = configure(PLAN_LIMITS=" pro = 1000 ,")
    assert settings.plan_limits == {"starter": 100, "pro": 1000, "anonymous": 100}
    assert configure(WEBHOOK_LIMITS="starter=3").webhook_limits == {"starter": 3, "pro": 100}


@pytest.mark.parametrize(
    ("text", "schedule"), [("1", (1,)), ("0.2, 0.3", (0.2, 0.3)), ("30,300,1800", (30, 300, 1800))]
)
def test_a_retry_schedule_is_a_list_of_seconds(
    configure: Configure, text: str, schedule: tuple[float, ...]
) -> None:
    assert configure(RETRY_SCHEDULE=text).retry_schedule == schedule


def test_addresses_are_kept_in_their_normal_form(configure: Configure) -> None:
    settings = configure(PUBLIC_URL="http://Gateway.example:80/", NETWORK_URL="http://localhost:1/")
    assert (settings.public_url, settings.network_url) == (
        "http://gateway.example",
        "http://localhost:1",
    )
    assert configure(PUBLIC_URL="http://gateway.example/a b/").public_url.endswith("/a%20b")


@pytest.mark.parametrize(
    "url", ["http://127.0.0.1:9", "http://127.0.0.2:9", "http://localhost:9", "http://[::1]:9"]
)
def test_the_sandbox_allows_default_secrets_and_local_webhooks(
    configure: Configure, url: str
) -> None:
    settings = configure(NETWORK_URL=url)
    assert settings.uses_sandbox
    assert not settings.is_production
    assert settings.allow_local_webhooks is True
    assert settings.network_app_secret.get_secret_value() == "sandbox-app-secret"


HTTPS = {"PUBLIC_URL": "https://gateway.example"}
OWN = {"NETWORK_APP_SECRET": "our-secret", "NETWORK_VERIFY_TOKEN": "our-token"}
REAL = {"NETWORK_URL": "https://graph.example", "NETWORK_APP_ID": "1", "NETWORK_CONFIG_ID": "2"}
PUBLISHED = {
    "NETWORK_APP_SECRET": "sandbox-app-secret",
    "NETWORK_VERIFY_TOKEN": "sandbox-verify-token",
}
KEY = "k" * 32


@pytest.mark.parametrize("place", [HTTPS, REAL], ids=["https", "real network"])
@pytest.mark.parametrize("name", PUBLISHED)
def test_production_does_not_start_with_a_published_secret(
    configure: Configure, place: dict[str, str], name: str
) -> None:
    secrets = OWN | {name: PUBLISHED[name]}
    with pytest.raises(SettingsError, match=f"^GATEWAY_{name} must be set in production"):
        configure(SECRET_KEY=KEY, **place, **secrets)


def test_an_https_address_needs_secrets_of_its_own_for_the_sandbox(configure: Configure) -> None:
    with pytest.raises(SettingsError, match=r"^GATEWAY_NETWORK_APP_SECRET must be set"):
        configure(SECRET_KEY=KEY, **HTTPS)
    assert configure(**OWN).is_production


@pytest.mark.parametrize(
    ("public", "network", "is_production"),
    [
        ("https://gateway.example", "http://127.0.0.1:8081", True),
        ("https://gateway.example", "http://127.0.0.1:3128", True),
        ("https://gateway.example", "https://graph.example", True),
        ("http://127.0.0.1:8080", "https://graph.example", True),
        ("https://localhost:8443", "http://127.0.0.1:8081", False),
        ("https://[::1]:8443", "http://[::1]:8081", False),
        ("http://gateway.example", "http://127.0.0.1:8081", False),
    ],
)
def test_every_default_of_production_follows_from_the_addresses(
    configure: Configure, public: str, network: str, *, is_production: bool
) -> None:
    """An https address of other machines is production even with a network on this machine."""
    ids = {"NETWORK_APP_ID": "1", "NETWORK_CONFIG_ID": "2"}
    addresses = {"PUBLIC_URL": public, "NETWORK_URL": network}
    settings = configure(**addresses, **ids, **OWN)
    assert settings.is_production is is_production
    assert settings.allow_local_webhooks is not is_production
    if is_production:
        with pytest.raises(SettingsError, match="must be set in production"):
            configure(NETWORK_APP_SECRET=PUBLISHED["NETWORK_APP_SECRET"])
    else:
        configure(NETWORK_APP_SECRET=PUBLISHED["NETWORK_APP_SECRET"])


def test_in_production_a_program_of_this_machine_is_the_sandbox_only_at_its_port(
    configure: Configure,
) -> None:
    ids = {"NETWORK_APP_ID": "1", "NETWORK_CONFIG_ID": "2"}
    assert configure(**HTTPS, **OWN).uses_sandbox
    assert not configure(NETWORK_URL="http://127.0.0.1:3128", **ids).uses_sandbox
    with pytest.raises(SettingsError, match="NETWORK_APP_ID"):
        configure(NETWORK_APP_ID=str(Settings.model_fields["network_app_id"].default))


@pytest.mark.parametrize("place", [HTTPS, REAL], ids=["https", "real network"])
def test_production_does_not_start_with_a_short_key(
    configure: Configure, place: dict[str, str]
) -> None:
    with pytest.raises(SettingsError, match=r"^GATEWAY_SECRET_KEY .*\b32\b"):
        configure(SECRET_KEY=KEY[1:], **place, **OWN)
    assert configure(SECRET_KEY=KEY).is_production
    assert configure(SECRET_KEY="").is_production


def test_the_network_is_the_sandbox_at_its_port(configure: Configure) -> None:
    assert configure(SANDBOX_PORT="9123").network_url == "http://127.0.0.1:9123"


def test_local_webhooks_can_be_forbidden_with_the_sandbox_too(
    configure: Configure,
) -> None:
    assert configure(ALLOW_LOCAL_WEBHOOKS="false").allow_local_webhooks is False


def test_no_secret_is_printed_with_the_settings(configure: Configure) -> None:
    settings = configure(SECRET_KEY="plain-key", NETWORK_APP_SECRET="plain-app-secret")
    assert "plain" not in repr(settings)


def test_no_password_of_a_server_is_printed_with_the_settings(configure: Configure) -> None:
    settings = configure(
        DATABASE_URL="postgresql://gateway:plain-1@db:5432/gateway",
        QUEUE_URL="redis://:plain-2@redis/0",
        RATE_LIMIT_URL="rediss://user:plain-3@redis/1",
    )
    assert "plain" not in repr(settings)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://gateway:s%40fe%2F@db.internal:5432/gateway?sslmode=verify-full",
        "postgresql://gateway@first:5432,second:5432/gateway?target_session_attrs=primary",
        "postgresql:///gateway?host=/run/postgresql",
        "postgresql://[::1]:5432/gateway",
    ],
)
def test_addresses_that_libpq_accepts_are_valid_database_urls(
    configure: Configure, url: str
) -> None:
    settings = configure(DATABASE_URL=url)
    assert (settings.database_url, settings.queue_url) == (url, url)


@pytest.mark.parametrize("name", ["DATABASE_URL", "QUEUE_URL", "RATE_LIMIT_URL"])
@pytest.mark.parametrize(
    "rest",
    [
        "gateway:pla/in@db/gateway",
        "gateway:pla?in@db/gateway",
        "gateway:pla#in@db/gateway",
        "pla/in@db/gateway",
        "pla?in@db/gateway",
        "pla#in@db/gateway",
        "db:plain/gateway",
    ],
)
def test_a_password_that_breaks_its_url_is_refused_and_not_printed(
    configure: Configure, name: str, rest: str
) -> None:
    scheme = "postgresql" if name == "DATABASE_URL" else "redis"
    with pytest.raises(SettingsError) as refused:
        configure(**{name: f"{scheme}://{rest}"})
    said = str(refused.value)
    assert said.startswith(f"GATEWAY_{name}: ")
    assert "percent-encode" in said
    assert "pla" not in said


def test_a_password_that_the_driver_cannot_decode_is_refused_and_not_printed(
    configure: Configure,
) -> None:
    with pytest.raises(SettingsError, match=r"^GATEWAY_DATABASE_URL: .*percent-encode") as refused:
        configure(DATABASE_URL="postgresql://gateway:pla%in@db/gateway")
    assert "pla" not in str(refused.value)


@pytest.mark.parametrize("password", ["pla@in", "pla in", "pla:in"])
def test_an_unambiguous_special_character_is_part_of_the_password(
    configure: Configure, password: str
) -> None:
    settings = configure(
        DATABASE_URL=f"postgresql://gateway:{password}@db/gateway",
        RATE_LIMIT_URL=f"redis://:{password}@redis/0",
    )
    assert conninfo_to_dict(settings.database_url)["password"] == password
    pool = ConnectionPool.from_url(settings.rate_limit_url)
    assert pool.connection_kwargs["password"] == password


def test_a_given_key_is_used_and_written_nowhere(configure: Configure) -> None:
    settings = configure(SECRET_KEY="plain-key")
    assert settings.encryption_keys() == ["plain-key"]
    assert not settings.data_dir.exists()


def test_several_keys_are_separated_by_commas(configure: Configure) -> None:
    settings = configure(SECRET_KEY="new key,with-a%2Ccomma,old-key\n")
    assert settings.encryption_keys() == ["new key", "with-a,comma", "old-key\n"]
    assert configure(SECRET_KEY=f"{KEY},{KEY.upper()}", **REAL, **OWN).is_production


@pytest.mark.parametrize(
    ("keys", "place"),
    [
        ("plain-key,", 2),
        (",plain-key", 1),
        ("plain-key,, old", 2),
        ("plain-key, old", 2),
        ("plain-key ,old", 1),
        ("plain-key,old,plain-key", 3),
    ],
)
def test_a_wrong_key_among_several_is_named_by_its_place(
    configure: Configure, keys: str, place: int
) -> None:
    with pytest.raises(SettingsError, match=f"^GATEWAY_SECRET_KEY: key {place} ") as caught:
        configure(SECRET_KEY=keys)
    assert "plain" not in str(caught.value)


def test_production_does_not_start_with_a_short_old_key(configure: Configure) -> None:
    with pytest.raises(SettingsError, match=r"^GATEWAY_SECRET_KEY .*\b32\b.* key 2 ") as caught:
        configure(SECRET_KEY=f"{KEY},plain-key", **REAL, **OWN)
    assert "plain" not in str(caught.value)


def test_a_key_is_made_once_and_kept_for_its_owner_only(configure: Configure) -> None:
    settings = configure(SECRET_KEY="")
    [key] = settings.encryption_keys()
    kept = settings.data_dir / "secret.key"
    assert len(key) >= 43
    assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    assert load_settings().encryption_keys() == [key] == [kept.read_text()]


def test_processes_that_start_together_agree_on_the_key(configure: Configure) -> None:
    """The web and the worker of a real deployment start at the same moment."""
    for attempt in range(20):
        settings = configure(SECRET_KEY="", DATA_DIR=f"data-{attempt}")
        keys = factories.at_once(*[settings.encryption_keys] * 8)
        assert all(each == keys[0] for each in keys)
        assert len(keys[0][0]) >= 43
        assert [path.name for path in settings.data_dir.iterdir()] == ["secret.key"]


def test_several_workers_need_a_shared_rate_limit(configure: Configure) -> None:
    with pytest.raises(SettingsError, match=r"GATEWAY_WORKERS .* GATEWAY_RATE_LIMIT_URL"):
        configure(WORKERS="2")
