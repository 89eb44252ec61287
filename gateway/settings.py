"""Every setting of the gateway, read from the environment (prefix ``GATEWAY_``) and ``.env``.

A leaf: it imports nothing of ours. A setting that makes no sense raises ``SettingsError`` with one
line that names it. docs/configuration.md lists all settings.
"""

import contextlib
import math
import os
import re
import secrets
import tempfile
from functools import cache
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import quote, urlsplit

from pydantic import Field, SecretStr, ValidationError, field_validator, model_validator
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, DotEnvSettingsSource, NoDecode, SettingsConfigDict

from gateway import __version__

PREFIX = "GATEWAY_"
# What Kubernetes sets for a Service whose name begins with "gateway", such as GATEWAY_PORT_8080_TCP_ADDR.
_OF_KUBERNETES = re.compile(
    rf"{PREFIX}(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_ADDR|_PORT|_PROTO)?)"
)
# GATEWAY_PORT itself might be a mistake for --port, but not with such a value.
_OF_KUBERNETES_PORT = re.compile(rf"{PREFIX}(\w+_)?PORT=(tcp|udp|sctp)://.*")
ANONYMOUS = "anonymous"
MAX_PORT = 65535
_LOOPBACK = {"127.0.0.1", "localhost", "::1"}
_SANDBOX_SECRETS = {
    "network_app_id": "100000000000001",
    "network_app_secret": "sandbox-app-secret",
    "network_config_id": "200000000000001",
    "network_verify_token": "sandbox-verify-token",
}
MIN_KEY = 32


_HOST = r"(?:[\w.%-]+|\[[0-9A-Fa-f:.]+\])(?::\d+)?"
_SERVER_URL = re.compile(
    rf"\w+://(?:[^@/?#\s]*@)?(?:{_HOST}(?:,{_HOST})*)?(?:[/?][^@#\s]*)?", re.ASCII
)
_BROKEN_ESCAPE = re.compile("%(?![0-9A-Fa-f]{2})")


def _sqlite_url(path: Path) -> str:
    return f"sqlite://{quote(str(path))}"


def _check_url(url: str, *schemes: str) -> None:
    if url and not url.startswith(schemes):
        msg = f"must start with {' or '.join(schemes)}"
        raise ValueError(msg)
    if url.startswith("sqlite:"):
        _check_path(url)
        return
    # A driver would say what it cannot read, and that may be a piece of the password.
    if url and (not _SERVER_URL.fullmatch(url) or _BROKEN_ESCAPE.search(url)):
        msg = "is not a URL; percent-encode the special characters of user and password"
        raise ValueError(msg)
    _check_ports(url)
    if url.startswith("postgresql:"):
        _check_by_driver(url)


def _check_path(url: str) -> None:
    parts = urlsplit(url)
    if parts.fragment or parts.path.endswith("/") or "%00" in parts.path:
        msg = "names no file; write sqlite:/// and an absolute path, # in it as %23"
        raise ValueError(msg)


def _check_ports(url: str) -> None:
    hosts = urlsplit(url).netloc.rpartition("@")[2]
    for port in re.findall(r":(\d+)(?=,|$)", hosts):
        if not 0 < int(port) <= MAX_PORT:
            msg = f"port {port} is not between 1 and {MAX_PORT}"
            raise ValueError(msg)


def _check_by_driver(url: str) -> None:
    from psycopg import Error, conninfo  # noqa: PLC0415 - on SQLite nobody waits for it

    try:
        conninfo.conninfo_to_dict(url)
    except (Error, UnicodeDecodeError):
        # Its own words may be a piece of the password.
        msg = "is refused by PostgreSQL's driver; look at its parameters and at what is percent-encoded"
        raise ValueError(msg) from None


def _check_base(url: str) -> None:
    """Refuse what no path can be put behind, and what would be told to everybody."""
    parts = urlsplit(url)
    if parts.scheme not in {"http", "https"} or not parts.hostname or re.search(r"\s", url):
        msg = "must be an http or https address with a host"
        raise ValueError(msg)
    if "@" in parts.netloc or "?" in url or "#" in url:
        msg = "must have no user, password, query or fragment"
        raise ValueError(msg)
    if not re.fullmatch(r"(\[[^\]]+\]|[^:\[\]]+)(:\d+)?", parts.netloc):
        msg = "has a port that is no number"
        raise ValueError(msg)
    _check_ports(url)


def _is_loopback(host: str | None) -> bool:
    try:
        return host == "localhost" or ip_address(host or "").is_loopback
    except ValueError:
        return False


# Settings of earlier releases that do nothing any more.
RETIRED = {f"{PREFIX}ONE_CORE"}


class SettingsError(Exception):
    """A setting makes no sense. The text is one line that names it."""


class Settings(BaseSettings):
    """The settings of one process, checked."""

    model_config = SettingsConfigDict(env_prefix=PREFIX, env_file=".env", extra="ignore")

    data_dir: Path = Path("var")
    # A URL may hold a password, so none of the three is shown with the settings.
    database_url: str = Field(default="", repr=False)
    database_connections: int = Field(default=10, ge=1)
    queue_url: str = Field(default="", repr=False)
    rate_limit_url: str = Field(default="memory", repr=False)
    public_url: str = "http://127.0.0.1:8080"
    secret_key: SecretStr = SecretStr("")

    sandbox_port: int = Field(default=8081, ge=1, le=MAX_PORT)
    network_url: str = ""
    network_version: str = Field(default="v25.0", pattern=r"^v\d+\.\d+$")
    network_app_id: str = ""
    network_app_secret: SecretStr = SecretStr("")
    network_config_id: str = ""
    network_verify_token: SecretStr = SecretStr("")
    network_timeout: float = Field(default=30, gt=0, allow_inf_nan=False)
    number_check_interval: float = Field(default=900, gt=0, allow_inf_nan=False)

    plan_limits: Annotated[dict[str, int], NoDecode] = {"starter": 100, "pro": 500}
    retry_schedule: Annotated[tuple[float, ...], NoDecode] = (30, 300, 1800)
    delivery_timeout: float = Field(default=10, gt=0, allow_inf_nan=False)
    deactivate_after: int = Field(default=10, ge=1)
    allow_local_webhooks: bool | None = None
    sweep_interval: float = Field(default=2, gt=0, allow_inf_nan=False)
    retention_days: int = Field(default=30, ge=1)

    workers: int = Field(default=1, ge=1)
    threads: int = Field(default=40, ge=1)
    transfers: int = Field(default=8, ge=1)

    log_format: Literal["auto", "json", "text"] = "auto"
    worker_metrics_at: str = Field(default="", pattern=r"^([^:\s]+:\d{1,5})?$")

    @field_validator("plan_limits", mode="before")
    @classmethod
    def _parse_plan_limits(cls, value: object) -> object:
        if not isinstance(value, str):
            return value
        pairs = [item.partition("=") for item in value.split(",") if item.strip()]
        return {name.strip(): limit.strip() for name, _, limit in pairs}

    @field_validator("plan_limits")
    @classmethod
    def _complete_plan_limits(cls, value: dict[str, int]) -> dict[str, int]:
        limits = {"starter": 100, "pro": 500, ANONYMOUS: 100} | value
        if unknown := set(limits) - {"starter", "pro", ANONYMOUS}:
            msg = f"unknown plan {', '.join(sorted(unknown))}; known are starter, pro, {ANONYMOUS}"
            raise ValueError(msg)
        if any(limit < 1 for limit in limits.values()):
            msg = "a limit must be at least 1 request a minute"
            raise ValueError(msg)
        return limits

    @field_validator("retry_schedule", mode="before")
    @classmethod
    def _parse_retry_schedule(cls, value: object) -> object:
        return value.split(",") if isinstance(value, str) else value

    @field_validator("retry_schedule")
    @classmethod
    def _check_retry_schedule(cls, value: tuple[float, ...]) -> tuple[float, ...]:
        if not all(0 < delay < math.inf for delay in value):
            msg = "each delay must be a number of seconds above 0"
            raise ValueError(msg)
        return value

    @field_validator("database_url")
    @classmethod
    def _check_database_url(cls, value: str) -> str:
        _check_url(value, "sqlite:///", "postgresql://")
        if value.startswith("sqlite:") and urlsplit(value).query not in {"", "synchronous=full"}:
            msg = "knows no other parameter than synchronous=full"
            raise ValueError(msg)
        return value

    @field_validator("queue_url")
    @classmethod
    def _check_queue_url(cls, value: str) -> str:
        _check_url(value, "sqlite:///", "postgresql://", "redis://", "rediss://")
        return value

    @field_validator("rate_limit_url")
    @classmethod
    def _check_rate_limit_url(cls, value: str) -> str:
        if value != "memory":
            _check_url(value, "memory", "redis://", "rediss://")
        return value

    @field_validator("public_url", "network_url")
    @classmethod
    def _check_http_url(cls, value: str) -> str:
        if value:
            _check_base(value)
        return value.rstrip("/")

    @field_validator("network_url")
    @classmethod
    def _check_network_url(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme == "http" and not _is_loopback(parts.hostname):
            msg = "must be https, except at a loopback address: tokens and messages travel there"
            raise ValueError(msg)
        return value

    @model_validator(mode="before")
    @classmethod
    def _blank_means_default(cls, data: Any) -> Any:
        return {k: v for k, v in data.items() if v != ""} if isinstance(data, dict) else data

    @model_validator(mode="after")
    def _fill_in(self) -> Self:
        self.data_dir = self.data_dir.absolute()
        self.database_url = self.database_url or _sqlite_url(self.data_dir / "gateway.db")
        self.queue_url = self.queue_url or self._queue_beside_database()
        self.network_url = self.network_url or f"http://127.0.0.1:{self.sandbox_port}"
        self._fill_in_network_secrets()
        if self.is_production:
            self._refuse_weak_secrets()
        if self.allow_local_webhooks is None:
            self.allow_local_webhooks = self.uses_sandbox
        if self.workers > 1 and self.rate_limit_url == "memory":
            msg = f"{PREFIX}WORKERS above 1 needs a shared {PREFIX}RATE_LIMIT_URL, not memory"
            raise ValueError(msg)
        return self

    def _queue_beside_database(self) -> str:
        is_file = self.database_url.startswith("sqlite:")
        return _sqlite_url(self.data_dir / "queue.db") if is_file else self.database_url

    def _fill_in_network_secrets(self) -> None:
        """Use the sandbox's well-known secrets with the sandbox, and never with anything else."""
        for name, sandbox_value in _SANDBOX_SECRETS.items():
            current = getattr(self, name)
            is_secret = isinstance(current, SecretStr)
            if current.get_secret_value() if is_secret else current:
                continue
            if not self.uses_sandbox:
                msg = f"{PREFIX}{name.upper()} must be set when {PREFIX}NETWORK_URL is not the local sandbox"
                raise ValueError(msg)
            setattr(self, name, SecretStr(sandbox_value) if is_secret else sandbox_value)

    def _refuse_weak_secrets(self) -> None:
        key = self.secret_key.get_secret_value()
        if 0 < len(key) < MIN_KEY:
            msg = f"{PREFIX}SECRET_KEY must have at least {MIN_KEY} characters in production"
            raise ValueError(msg)
        for name in ("network_app_secret", "network_verify_token"):
            if getattr(self, name).get_secret_value() == _SANDBOX_SECRETS[name]:
                msg = f"{PREFIX}{name.upper()} must not be the sandbox's in production: everybody can read it"
                raise ValueError(msg)

    @property
    def is_production(self) -> bool:
        """Whether strangers reach it, or it reaches people: an https PUBLIC_URL, or a real network."""
        return not self.uses_sandbox or urlsplit(self.public_url).scheme == "https"

    @property
    def uses_sandbox(self) -> bool:
        """Whether the messaging network is a sandbox on this machine."""
        return urlsplit(self.network_url).hostname in _LOOPBACK

    @property
    def user_agent(self) -> str:
        """How deliveries introduce themselves."""
        return f"MessagingGateway/{__version__}"

    def encryption_key(self) -> str:
        """The key that protects secrets at rest: SECRET_KEY, else one made and kept in DATA_DIR."""
        given = self.secret_key.get_secret_value()
        if given:
            return given
        path = self.data_dir / "secret.key"
        self.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not path.exists():
            # It gets its name when it is complete: processes that start together must not read half a key.
            with tempfile.NamedTemporaryFile("w", dir=self.data_dir, encoding="ascii") as file:
                file.write(secrets.token_urlsafe(32))
                file.flush()
                with contextlib.suppress(FileExistsError):
                    os.link(file.name, path)
        return path.read_text(encoding="ascii")


def _unknown_names() -> list[str]:
    known = {PREFIX + name.upper() for name in Settings.model_fields} | RETIRED
    in_file = {name.upper() for name in DotEnvSettingsSource(Settings).env_vars}
    return [
        f"{name} is not a setting; see docs/configuration.md"
        for name in sorted({*filter(_is_ours, os.environ), *in_file} - known)
        if name.startswith(PREFIX)
    ]


def _is_ours(name: str) -> bool:
    """Whether a variable is meant for us, and not set by Kubernetes for a Service of our name."""
    of_kubernetes = _OF_KUBERNETES.fullmatch(name)
    return not (of_kubernetes or _OF_KUBERNETES_PORT.fullmatch(f"{name}={os.environ[name]}"))


def _one_line(error: ErrorDetails) -> str:
    reason = error["msg"].removeprefix("Value error, ")
    if not error["loc"]:
        return reason
    return f"{PREFIX}{str(error['loc'][0]).upper()}: {reason}"


def find_mistakes() -> list[str]:
    """Everything in the settings that makes no sense, one line for each; none when all is well."""
    try:
        Settings()
    except ValidationError as error:
        return [*_unknown_names(), *map(_one_line, error.errors())]
    return _unknown_names()


def load_settings() -> Settings:
    """Read and check the settings. Raises SettingsError, which names the first mistake."""
    if mistakes := find_mistakes():
        raise SettingsError(mistakes[0])
    return Settings()


@cache
def get_settings() -> Settings:
    """The settings of this process, read once."""
    return load_settings()
