"""A messaging network with one business account, which records its calls."""

from dataclasses import dataclass, field

from networks.exceptions import AmbiguousError, NetworkError, RefusedError
from networks.interface import (
    Acceptance,
    NumberProfile,
    OutboundMessage,
    Route,
    Sender,
    TokenGrant,
)
from networks.whatsapp.numbers import state_of
from networks.whatsapp.rules import Rules
from tests.factories import phone_of

CODE, WABA, TOKEN = "code-1", "2001", "token-1"
SCOPES = frozenset({"whatsapp_business_management", "whatsapp_business_messaging"})

GRANT = TokenGrant(is_valid=True, missing=(), waba_ids=frozenset({WABA}))


@dataclass
class Platform(Rules):
    """The network. ``statuses`` are those of its numbers. A call named in ``errors`` raises its error."""

    statuses: dict[str, str] = field(
        default_factory=lambda: dict.fromkeys(("1000", "1001"), "PENDING")
    )
    status_after_registration: str = "CONNECTED"
    # Phone numbers by identifier. Others have that of tests.factories.
    phones: dict[str, str] = field(default_factory=dict)
    wabas: set[str] = field(default_factory=lambda: {WABA})
    grant: TokenGrant = GRANT
    errors: dict[str, NetworkError] = field(default_factory=dict)
    # The two-step PIN of its numbers. The first registration sets it.
    pin: str | None = None
    codes: set[str] = field(default_factory=lambda: {CODE})
    asked: list[str] = field(default_factory=list)

    def _ask(self, what: str) -> None:
        self.asked.append(what)
        if what in self.errors:
            raise self.errors[what]

    def _profile(self, phone_number_id: str) -> NumberProfile:
        status = self.statuses[phone_number_id]
        phone_number = self.phones.get(phone_number_id, phone_of(phone_number_id))
        return NumberProfile(phone_number_id, phone_number, "Acme", state_of(status), status)

    def interrupt(self, what: str) -> None:
        """Give no response to this call from now on."""
        self.errors = {what: AmbiguousError("timeout", "No answer.")}

    async def send(self, sender: Sender, message: OutboundMessage) -> Acceptance:
        raise NotImplementedError

    async def exchange_code(self, code: str) -> str:
        self._ask("exchange_code")
        if code not in self.codes:
            raise RefusedError("100", "This authorization code has been used.")
        self.codes.remove(code)
        return TOKEN

    async def inspect_token(self, access_token: str) -> TokenGrant:
        self._ask("inspect_token")
        assert access_token == TOKEN
        return self.grant

    async def list_numbers(self, waba_id: str, access_token: str) -> list[NumberProfile]:
        self._ask("list_numbers")
        assert access_token == TOKEN
        return [self._profile(number) for number in self.statuses] if waba_id in self.wabas else []

    async def subscribe(self, waba_id: str, access_token: str) -> None:
        self._ask("subscribe")
        assert waba_id in self.wabas
        assert access_token == TOKEN

    async def get_route(self, *_: object) -> Route:
        self._ask("get_route")
        return Route(is_subscribed=True, elsewhere=None, missing=())

    async def restore_route(self, *_: object) -> None:
        self._ask("restore_route")

    async def register(self, sender: Sender, pin: str) -> None:
        self._ask("register")
        assert len(pin) == 6
        if self.pin not in {None, pin}:
            raise RefusedError("133005", "Two step verification PIN Mismatch")
        self.pin = pin
        self.statuses[sender.phone_number_id] = self.status_after_registration

    async def request_app_data(self, sender: Sender) -> None:
        self._ask("request_app_data")
        assert sender.access_token == TOKEN

    async def get_number(self, sender: Sender) -> NumberProfile:
        self._ask("get_number")
        return self._profile(sender.phone_number_id)
