"""Every setting of the gateway, read from the environment (prefix ``GATEWAY_``) and ``.env``.

docs/configuration.md describes each one. This module imports no other package of the gateway.
``Settings.is_production`` is the only place that says whether this is production.
"""

import os
import re
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self
from urllib.parse import quote, urlsplit

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Field,
    HttpUrl,
    NonNegativeInt,
    PositiveInt,
    SecretStr,
    ValidationError,
    ValidationInfo,
    field_validator,
    model_validator,
)
from pydantic_core import ErrorDetails, MultiHostUrl
from pydantic_settings import BaseSettings, DotEnvSettingsSource, NoDecode, SettingsConfigDict

from gateway import __version__, keys
from gateway.production import (
    is_at_sandbox,
    is_https,
    is_of_this_machine,
    reason_of_production,
)

PREFIX = "GATEWAY_"
# Not a setting of the service: the path of the developer commands' profile.
PROFILE = f"{PREFIX}PROFILE"
# Variables that Kubernetes sets for a Service whose name begins with "gateway", such as
# GATEWAY_PORT_8080_TCP_ADDR. GATEWAY_PORT may be a mistake for --port, but not with such a value.
_OF_KUBERNETES = re.compile(
    rf"{PREFIX}(\w+_)?(SERVICE_(HOST|PORT(_\w+)?)=|PORT=(tcp|udp|sctp)://|"
    r"PORT_\d+_(TCP|UDP|SCTP)(_ADDR|_PORT|_PROTO)?=)"
)
ANONYMOUS = "anonymous"
# The limits of plans that a setting does not name.
_LIMITS = {
    "plan_limits": {"starter": 100, "pro": 500, ANONYMOUS: 100},
    "webhook_limits": {"starter": 20, "pro": 100},
    "webhook_request_limits": {"starter": 30_000, "pro": 600_000},
    "webhook_byte_limits": {"starter": 64, "pro": 1_024},
    "storage_limits": {"starter": 2_048, "pro": 20_480},
    "user_limits": {"starter": 10, "pro": 100},
}
NETWORK_SECRETS = ("network_app_secret", "network_verify_token")
NETWORK_IDS = ("network_app_id", "network_config_id")


def _sqlite_url(path: Path) -> str:
    return f"sqlite://{quote(str(path))}"


def _check_place(starts: tuple[str, ...], text: str) -> str:
    """Check the URL of a file or server, an empty value, or the word memory. Returns its normal form."""
    if text and not text.startswith(starts):
        raise ValueError(f"must start with {' or '.join(starts)}")
    if text in {"", "memory"}:
        return text
    return _check_file(text) if text.startswith("sqlite:") else _check_server(text)


def _check_file(text: str) -> str:
    parts = urlsplit(text)
    if parts.fragment or parts.path.endswith("/") or "%00" in parts.path:
        raise ValueError("names no file; write sqlite:/// and an absolute path, # in it as %23")
    if parts.query not in {"", "synchronous=full"}:
        raise ValueError("knows no other parameter than synchronous=full")
    return text


def _check_server(text: str) -> str:
    """Let the driver parse the URL, without connecting."""
    refusal = ValueError(
        "is no URL that the server's driver accepts; look at its host, port and parameters, and "
        "percent-encode the special characters of user and password"
    )
    wanted: object = None
    try:
        url = MultiHostUrl(text)
        if url.scheme == "postgresql":
            from psycopg import conninfo  # noqa: PLC0415 - SQLite starts faster without the drivers

            wanted = conninfo.conninfo_to_dict(str(url)).get("target_session_attrs")
        elif url.scheme.endswith("+sentinel"):
            _check_sentinel(url)
        else:
            from redis import ConnectionPool  # noqa: PLC0415 - as above

            ConnectionPool.from_url(str(url)).make_connection()
    except Exception:  # noqa: BLE001 - each parser has its own errors; they may quote the password
        raise refusal from None
    # A special character of the password ended the host's part early.
    if url.fragment is not None or "@" in f"{url.path}{url.query}":
        raise refusal
    if wanted not in {None, "any", "read-write", "primary"}:
        raise ValueError("target_session_attrs must be read-write or primary: the gateway writes")
    return str(url)


def _check_sentinel(url: MultiHostUrl) -> None:
    """Raise ValueError unless it is ``redis+sentinel://host:port,host:port/name/number``."""
    parameters = {name for name, _ in url.query_params()}
    is_named = re.fullmatch(r"/[^/]+(/\d{1,5})?/?", url.path or "")
    if not is_named or parameters - {"sentinel_username", "sentinel_password"}:
        raise ValueError("names no primary, or has an unknown parameter")


def _check_base(text: str) -> str:
    """Check a public URL, to which paths are appended, or an empty value."""
    if not text:
        return text
    try:
        url = HttpUrl(text)
    except ValidationError as error:
        # Only its message, because pydantic's whole error quotes the value.
        raise ValueError(error.errors()[0]["msg"]) from None
    if any(part is not None for part in (url.username, url.password, url.query, url.fragment)):
        raise ValueError("must have no user, password, query or fragment")
    if not url.port:
        raise ValueError("has port 0")
    return str(url).rstrip("/")


def _check_smtp(url: SecretStr) -> SecretStr:
    """Check the URL of a mail server, or an empty value."""
    parts = urlsplit(url.get_secret_value())
    try:
        is_whole = parts.scheme in {"smtp", "smtps"} and parts.hostname and parts.port != 0
    except ValueError:
        is_whole = False
    if url.get_secret_value() and not is_whole:
        raise ValueError(
            "is no URL such as smtp://user:password@mail.example.com:587 or smtps://..."
        )
    return url


_FILE_OR_POSTGRESQL = ("sqlite:///", "postgresql://")
_REDIS = ("redis://", "rediss://", "redis+sentinel://", "rediss+sentinel://")
_DatabaseUrl = Annotated[str, AfterValidator(partial(_check_place, _FILE_OR_POSTGRESQL))]
_QueueUrl = Annotated[str, AfterValidator(partial(_check_place, (*_FILE_OR_POSTGRESQL, *_REDIS)))]
_LimitsUrl = Annotated[str, AfterValidator(partial(_check_place, ("memory", *_REDIS)))]
_SmtpUrl = Annotated[SecretStr, AfterValidator(_check_smtp)]
_Keys = Annotated[SecretStr, AfterValidator(keys.check)]
_BaseUrl = Annotated[str, AfterValidator(_check_base)]
_Plan = Annotated[str, Field(pattern="^(starter|pro)$")]
_PlanLimits = Annotated[dict[_Plan, PositiveInt], NoDecode]
_Caller = Annotated[str, Field(pattern="^(starter|pro|anonymous)$")]
_LISTED = BeforeValidator(lambda value: value.split(",") if isinstance(value, str) else value)
_Port = Annotated[int, Field(ge=1, le=65535)]
_Seconds = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class SettingsError(Exception):
    """A setting is wrong. The text is one line that names it."""


class Settings(BaseSettings):
    """The settings of one process."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_file=".env", env_ignore_empty=True, extra="ignore"
    )

    data_dir: Path = Path("var")
    # These URLs may contain a password, so repr() omits them.
    database_url: _DatabaseUrl = Field(default="", repr=False)
    database_connections: PositiveInt = 10
    queue_url: _QueueUrl = Field(default="", repr=False)
    rate_limit_url: _LimitsUrl = Field(default="memory", repr=False)
    public_url: _BaseUrl = "http://127.0.0.1:8080"
    idle_seconds: PositiveInt = 75
    secret_key: _Keys = SecretStr("")

    network: Literal["whatsapp", "memory"] = "whatsapp"
    sandbox_port: _Port = 8081
    network_url: _BaseUrl = ""
    network_version: str = Field(default="v25.0", pattern=r"^v\d+\.\d+$")
    # The sandbox's values.
    network_app_id: str = "100000000000001"
    network_app_secret: SecretStr = SecretStr("sandbox-app-secret")
    network_config_id: str = "200000000000001"
    network_app_numbers: bool = False
    network_verify_token: SecretStr = SecretStr("sandbox-verify-token")
    network_timeout: _Seconds = 30
    network_idle: _Seconds = 4
    number_check_interval: _Seconds = 900

    plan_limits: Annotated[dict[_Caller, PositiveInt], NoDecode] = {"starter": 100, "pro": 500}
    webhook_limits: _PlanLimits = {"starter": 20, "pro": 100}
    webhook_request_limits: _PlanLimits = {"starter": 30_000, "pro": 600_000}
    webhook_byte_limits: _PlanLimits = {"starter": 64, "pro": 1_024}
    storage_limits: _PlanLimits = {"starter": 2_048, "pro": 20_480}
    user_limits: _PlanLimits = {"starter": 10, "pro": 100}
    retry_schedule: Annotated[tuple[_Seconds, ...], NoDecode, _LISTED] = (30, 300, 1800)
    delivery_timeout: _Seconds = 10
    deactivate_after: PositiveInt = 10
    deactivate_when_gone: bool = False
    redelivery_rate: PositiveInt = 50
    due_limit: NonNegativeInt = 0
    allow_local_webhooks: bool | None = None
    sweep_interval: _Seconds = 5
    retention_days: PositiveInt = 30
    request_log_days: NonNegativeInt = 7

    # It may contain a password.
    smtp_url: _SmtpUrl = SecretStr("")
    smtp_from: str = Field(default="", pattern=r"^([^@\s]+@[^@\s]+)?$")

    workers: PositiveInt = 1
    threads: PositiveInt = 40
    transfers: PositiveInt = 8

    log_format: Literal["auto", "json", "text"] = "auto"
    watchdog_seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 60
    worker_metrics_at: str = Field(
        default="", pattern=r"^((\[[\da-fA-F:.]+\]|[^:\s\[\]]+):\d{1,5})?$"
    )

    @field_validator(*_LIMITS, mode="before")
    @classmethod
    def _parse_limits(cls, value: Any, info: ValidationInfo) -> Any:
        """Parse ``starter=100,pro=500``. Other plans keep their limit."""
        if isinstance(value, str):
            pairs = [item.partition("=") for item in value.split(",") if item.strip()]
            value = {name.strip(): limit.strip() for name, _, limit in pairs}
        return _LIMITS[str(info.field_name)] | value

    @model_validator(mode="after")
    def _fill_in(self) -> Self:
        self.data_dir = self.data_dir.absolute()
        self.database_url = self.database_url or _sqlite_url(self.data_dir / "gateway.db")
        is_file = self.database_url.startswith("sqlite:")
        beside = _sqlite_url(self.data_dir / "queue.db") if is_file else self.database_url
        self.queue_url = self.queue_url or beside
        self.network_url = self.network_url or f"http://127.0.0.1:{self.sandbox_port}"
        if not (is_of_this_machine(self.network_url) or is_https(self.network_url)):
            raise ValueError(
                f"{PREFIX}NETWORK_URL must be https: tokens travel there. A loopback address may be http"
            )
        if self.is_production:
            self._refuse_weak_secrets()
        if self.allow_local_webhooks is None:
            self.allow_local_webhooks = not self.is_production
        if self.smtp_url.get_secret_value() and not self.smtp_from:
            raise ValueError(f"{PREFIX}SMTP_FROM is missing: {PREFIX}SMTP_URL needs a sender")
        if self.workers > 1 and self.rate_limit_url == "memory":
            raise ValueError(
                f"{PREFIX}WORKERS above 1 needs a shared {PREFIX}RATE_LIMIT_URL, not memory"
            )
        return self

    def _refuse_weak_secrets(self) -> None:
        if short := keys.find_short(self.secret_key):
            raise ValueError(f"{PREFIX}SECRET_KEY {short}")
        for name in NETWORK_SECRETS if self._is_at_sandbox else (*NETWORK_SECRETS, *NETWORK_IDS):
            if getattr(self, name) == Settings.model_fields[name].default:
                raise ValueError(
                    f"{PREFIX}{name.upper()} must be set in production: everybody can read the sandbox's"
                )

    @property
    def is_production(self) -> bool:
        """Whether PUBLIC_URL is an https address of other machines, or the network is another machine."""
        return self.production_reason is not None

    @property
    def production_reason(self) -> str | None:
        """Why this is production, as a sentence. None for a trial on this machine."""
        return reason_of_production(self.public_url, self.network_url)

    @property
    def has_secure_cookies(self) -> bool:
        """Whether browsers send cookies over https only."""
        return is_https(self.public_url)

    @property
    def public_path(self) -> str:
        """The path of PUBLIC_URL, before the path of every request. Empty without one."""
        return urlsplit(self.public_url).path

    @property
    def _is_at_sandbox(self) -> bool:
        port = self.sandbox_port
        return is_at_sandbox(self.network_url, port, is_production=self.is_production)

    @property
    def uses_sandbox(self) -> bool:
        """Whether new numbers are of a sandbox on this machine."""
        return self.network == "whatsapp" and self._is_at_sandbox

    @property
    def user_agent(self) -> str:
        """The User-Agent of requests to customers' endpoints."""
        return f"MessagingGateway/{__version__}"

    @property
    def key_file(self) -> Path:
        """The path of a generated key for secrets at rest."""
        return self.data_dir / "secret.key"

    @property
    def has_key(self) -> bool:
        """Whether encryption_keys() finds a key instead of generating one."""
        return bool(self.secret_key) or self.key_file.exists()

    def encryption_keys(self) -> list[str]:
        """The keys for secrets at rest, the newest first: SECRET_KEY, or one generated in DATA_DIR."""
        return keys.split(self.secret_key) if self.secret_key else [keys.make_once(self.key_file)]


def _unknown_names() -> list[str]:
    given = {n for n, value in os.environ.items() if not _OF_KUBERNETES.match(f"{n}={value}")}
    given |= {name.upper() for name in DotEnvSettingsSource(Settings).env_vars}
    known = {PREFIX + name.upper() for name in Settings.model_fields} | {PROFILE}
    unknown = sorted(name for name in given - known if name.startswith(PREFIX))
    where = "see the page Configuration of the documentation"
    return [f"{name} is not a setting; {where}" for name in unknown]


def _one_line(error: ErrorDetails) -> str:
    reason = error["msg"].removeprefix("Value error, ")
    # An error about several settings together has no loc; its text names them.
    return f"{PREFIX}{str(error['loc'][0]).upper()}: {reason}" if error["loc"] else reason


def _read() -> tuple[Settings | None, list[str]]:
    """The settings, None if a value is invalid, and one line for each mistake."""
    unknown = _unknown_names()
    try:
        return Settings(), unknown
    except ValidationError as error:
        return None, [*unknown, *map(_one_line, error.errors())]


def find_mistakes() -> list[str]:
    """One line for each mistake, with the name of the setting."""
    return _read()[1]


def load_settings() -> Settings:
    """Read and check the settings. Raises SettingsError for the first mistake."""
    settings, mistakes = _read()
    if settings is None or mistakes:
        raise SettingsError(mistakes[0])
    return settings


@cache
def get_settings() -> Settings:
    """The settings of this process, read once. Raises SettingsError."""
    return load_settings()


def make_folder(settings: Settings) -> None:
    """Create DATA_DIR if it is missing. Raises SettingsError."""
    try:
        settings.data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise SettingsError(f"{PREFIX}DATA_DIR cannot be used: {error}") from None
