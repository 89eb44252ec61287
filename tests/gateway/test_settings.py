"""Settings that make no sense stop the start with one line that names them."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from gateway.settings import PREFIX, SettingsError, load_settings
from tests.conftest import Configure


@pytest.fixture
def environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The environment without any setting of the gateway, in an empty folder."""
    for name in [name for name in os.environ if name.startswith(PREFIX)]:
        monkeypatch.delenv(name)
    monkeypatch.chdir(tmp_path)
    return dict(os.environ)


NONSENSE = [
    ("DATABASE_URL", "mysql://localhost/gateway"),
    ("DATABASE_URL", "memory"),
    ("DATABASE_URL", "sqlite:///"),
    ("DATABASE_URL", "sqlite:gateway.db"),
    ("DATABASE_URL", "sqlite:////tmp/"),
    ("DATABASE_URL", "sqlite:////tmp/a%00b.db"),
    ("DATABASE_URL", "sqlite:////tmp/a.db#b"),
    ("DATABASE_URL", "postgresql://db:99999/gateway"),
    ("DATABASE_URL", "postgresql://db/gateway?no_such_parameter=1"),
    ("DATABASE_URL", "postgresql://db/gate%ffway"),
    ("DATABASE_URL", "postgresql://a%00b@db/gateway"),
    ("DATABASE_URL", "postgresql://db1:5432,db2:99999/gateway"),
    ("DATABASE_URL", "postgresql://db1,db2/gateway?target_session_attrs=standby"),
    ("QUEUE_URL", "postgresql://db1,db2/gateway?target_session_attrs=no-such-value"),
    ("QUEUE_URL", "redis://redis:99999/0"),
    ("QUEUE_URL", "amqp://localhost"),
    ("QUEUE_URL", "redis+sentinel://s1,s2"),
    ("QUEUE_URL", "redis+sentinel://s1,s2/main/zero"),
    ("RATE_LIMIT_URL", "redis+sentinel://s1/main/0?no_such_parameter=1"),
    ("QUEUE_URL", "redis://localhost/0?no_such_parameter=1"),
    ("QUEUE_URL", "redis://localhost/0?socket_timeout=soon"),
    ("RATE_LIMIT_URL", "here"),
    ("RATE_LIMIT_URL", "memory://"),
    ("RATE_LIMIT_URL", "redis://localhost/0?no_such_parameter=1"),
    ("PUBLIC_URL", "example.com"),
    ("PUBLIC_URL", "http://["),
    ("PUBLIC_URL", "https://:8080"),
    ("PUBLIC_URL", "https://gateway.example:65536"),
    ("PUBLIC_URL", "https://gateway.example:0"),
    ("PUBLIC_URL", "https://gateway.example:http"),
    ("PUBLIC_URL", "https://::1:8080"),
    ("PUBLIC_URL", "https://user:word@gateway.example"),
    ("PUBLIC_URL", "https://gateway.example?a=b"),
    ("PUBLIC_URL", "https://gateway.example#a"),
    ("PUBLIC_URL", "https://gateway.example?"),
    ("SANDBOX_PORT", "65536"),
    ("NETWORK_URL", "ftp://graph.example.com"),
    ("NETWORK_URL", "http://graph.example.com"),
    ("NETWORK_URL", "http://10.0.0.7:8081"),
    ("NETWORK_URL", "https://graph.example.com:99999"),
    ("NETWORK_URL", "https://graph.example.com?v=25"),
    ("NETWORK_VERSION", "25"),
    ("NETWORK_TIMEOUT", "0"),
    ("NETWORK_TIMEOUT", "inf"),
    ("PLAN_LIMITS", "starter"),
    ("PLAN_LIMITS", "gold=3"),
    ("PLAN_LIMITS", "starter=0"),
    ("WEBHOOK_LIMITS", "starter=0"),
    ("WEBHOOK_LIMITS", "anonymous=3"),
    ("USER_LIMITS", "starter=0"),
    ("USER_LIMITS", "anonymous=3"),
    ("RETRY_SCHEDULE", "soon"),
    ("RETRY_SCHEDULE", "30,-1"),
    ("RETRY_SCHEDULE", "nan"),
    ("RETRY_SCHEDULE", "30,inf"),
    ("DELIVERY_TIMEOUT", "nan"),
    ("DELIVERY_TIMEOUT", "inf"),
    ("DEACTIVATE_AFTER", "0"),
    ("ALLOW_LOCAL_WEBHOOKS", "maybe"),
    ("SWEEP_INTERVAL", "-1"),
    ("RETENTION_DAYS", "0"),
    ("WORKERS", "0"),
    ("THREADS", "many"),
    ("REDY", "1"),
    ("PORT", "9000"),
    ("SANBOX_PORT", "9000"),
    ("SERVICE", "web"),
]


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize(("name", "value"), NONSENSE)
def test_a_setting_that_makes_no_sense_is_named_in_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(PREFIX + name, value)
    with pytest.raises(SettingsError) as refused:
        load_settings()
    assert str(refused.value).startswith(PREFIX + name)
    assert "\n" not in str(refused.value)


KUBERNETES = {
    "GATEWAY_SERVICE_HOST": "10.0.0.7",
    "GATEWAY_SERVICE_PORT": "8080",
    "GATEWAY_SERVICE_PORT_HTTP": "8080",
    "GATEWAY_PORT": "tcp://10.0.0.7:8080",
    "GATEWAY_PORT_8080_TCP": "tcp://10.0.0.7:8080",
    "GATEWAY_PORT_8080_TCP_ADDR": "10.0.0.7",
    "GATEWAY_PORT_8080_TCP_PORT": "8080",
    "GATEWAY_PORT_8080_TCP_PROTO": "tcp",
}


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("service", ["GATEWAY", "GATEWAY_WEB"])
def test_the_service_variables_of_kubernetes_are_not_settings(
    monkeypatch: pytest.MonkeyPatch, service: str
) -> None:
    for name, value in KUBERNETES.items():
        monkeypatch.setenv(name.replace("GATEWAY", service), value)
    assert load_settings().public_url == "http://127.0.0.1:8080"


@pytest.mark.usefixtures("environment")
def test_the_variable_of_the_profile_is_not_a_setting(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GATEWAY_PROFILE", "/tmp/profile.json")  # noqa: S108 - nobody opens it
    assert load_settings().data_dir.name == "var"


@pytest.mark.usefixtures("environment")
@pytest.mark.parametrize("line", ["GATEWAY_REDY=1", "GATEWAY_WORKERS=0", "gateway_redy=1"])
def test_the_env_file_is_validated_like_the_environment(line: str) -> None:
    Path(".env").write_text(f"{line}\nOTHER=1\n")
    with pytest.raises(SettingsError, match=line.partition("=")[0].upper()):
        load_settings()


@pytest.mark.usefixtures("environment")
def test_the_environment_goes_before_the_file_and_empty_means_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    Path(".env").write_text("GATEWAY_THREADS=7\nGATEWAY_WORKERS=0\n")
    monkeypatch.setenv("GATEWAY_WORKERS", "1")
    monkeypatch.setenv("GATEWAY_RETRY_SCHEDULE", "")
    settings = load_settings()
    assert (settings.threads, settings.workers) == (7, 1)
    assert settings.retry_schedule == (30, 300, 1800)


@pytest.mark.usefixtures("environment")
def test_another_network_than_the_sandbox_needs_its_own_secrets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GATEWAY_NETWORK_URL", "https://graph.example.com")
    for name in ("APP_SECRET", "VERIFY_TOKEN", "APP_ID", "CONFIG_ID"):
        with pytest.raises(SettingsError, match=f"GATEWAY_NETWORK_{name}"):
            load_settings()
        monkeypatch.setenv(f"GATEWAY_NETWORK_{name}", "ours")
    assert load_settings().allow_local_webhooks is False


@pytest.mark.parametrize(
    ("command", "name", "value"),
    [
        ("up", "GATEWAY_THREADS", "many"),
        ("up", "GATEWAY_DATA_DIR", "occupied"),
        ("migrate", "GATEWAY_DATABASE_URL", "sqlite:///{folder}/occupied"),
        ("migrate", "GATEWAY_QUEUE_URL", "sqlite:///{folder}/occupied"),
    ],
)
def test_a_command_ends_with_status_1_and_the_line_on_stderr(
    environment: dict[str, str], tmp_path: Path, command: str, name: str, value: str
) -> None:
    (tmp_path / "occupied").write_text("no folder and no database\n" * 100)
    done = subprocess.run(
        [sys.executable, "-m", "gateway", command],
        env=environment | {name: value.format(folder=tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: {name}")
    assert done.stderr.count("\n") == 1


@pytest.mark.parametrize("network", ["whatsapp", "memory"])
def test_the_network_of_new_numbers_makes_no_installation_a_trial(
    configure: Configure, network: str
) -> None:
    """Earlier numbers still send over WhatsApp."""
    with pytest.raises(SettingsError, match="NETWORK_URL must be https"):
        configure(NETWORK=network, NETWORK_URL="http://graph.example.com")
    assert not configure(NETWORK=network, NETWORK_URL="http://127.0.0.1:8081").is_production
