"""The interface of a messaging network: what each can do, what some can do besides, and the values.

A capability is a protocol. A network has it if it has its methods: ``networks.registry.offered`` finds out.
Every call over the wire raises a class of networks.exceptions.
"""

import mimetypes
import re
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import IO, Any, NamedTuple, Protocol, runtime_checkable

from networks.exceptions import NetworkError
from networks.items import Part, Person

# The types of the standard library, without those of the machine.
OTHER_TYPES = mimetypes.MimeTypes()
# Separates the reasons in the status reason of a number.
BETWEEN_REASONS = "; "
# A placeholder of a parameter in a text or URL of a template.
VARIABLE = re.compile(r"\{\{\s*([A-Za-z0-9_]+)\s*\}\}")


@dataclass(frozen=True)
class Sender:
    """The number of a call: the network's identifier and the access token."""

    phone_number_id: str
    access_token: str


@dataclass(frozen=True)
class OutboundMessage:
    """A message to send, to a phone number or a user id.

    ``content`` is the value of the member named like ``type``.

    ``quoted`` is the network's identifier of the message that this one replies or reacts to.
    Status callbacks return ``reference``, so that they find their message even if the response to the send
    was lost. With ``group``, the network's identifier of a group, it goes to the group (Groups).
    """

    to: str
    type: str
    content: Any
    reference: str
    quoted: str | None = None
    group: str | None = None


@dataclass(frozen=True)
class Acceptance:
    """The network's response to a send: its identifiers of the message, and of the person if it sends one.

    ``message_status`` is the network's value, such as ``held_for_quality_assessment``, or None.
    """

    wa_message_id: str
    wa_id: str | None = None
    user_id: str | None = None
    message_status: str | None = None


class NumberState(StrEnum):
    """The state of a number at its network. OTHER changes nothing: it is a warning, or temporary."""

    CONNECTED = "connected"
    BANNED = "banned"
    LOST = "lost"
    OTHER = "other"


@dataclass(frozen=True)
class NumberProfile:
    """A number at the network. ``status`` is the network's name of its ``state``.

    ``quality_rating`` (GREEN), ``messaging_limit`` (TIER_2K) and ``throughput`` (STANDARD) are the network's
    values, None if they were not requested.
    """

    phone_number_id: str
    phone_number: str
    display_name: str | None
    state: NumberState
    status: str
    quality_rating: str | None = None
    messaging_limit: str | None = None
    throughput: str | None = None


@dataclass(frozen=True)
class Route:
    """Where the callbacks about a number go.

    ``elsewhere`` is the URL that gets them, None for ours. ``missing`` are the fields that the
    gateway handles but does not get.
    """

    is_subscribed: bool
    elsewhere: str | None
    missing: tuple[str, ...]


@dataclass(frozen=True)
class BusinessProfile:
    """The public business profile of a number. Missing values are None."""

    about: str | None
    address: str | None
    description: str | None
    email: str | None
    vertical: str | None
    profile_picture_url: str | None
    websites: tuple[str, ...] = ()


@dataclass(frozen=True)
class BlockedPage:
    """A page of people whom a number has blocked, each by phone number, user id, or both.

    ``after`` is the cursor of the next page, None on the last one.
    """

    people: tuple[Person, ...]
    after: str | None


@dataclass(frozen=True)
class BlockResult:
    """People of the request that were blocked or unblocked, and those that failed, with the error."""

    done: tuple[str, ...]
    failed: dict[str, NetworkError]


@dataclass(frozen=True)
class TokenGrant:
    """The permissions of a customer's token: the needed ones that it lacks.

    ``waba_ids`` are the business accounts that it gives access to, None if unknown.
    """

    is_valid: bool
    missing: tuple[str, ...]
    waba_ids: frozenset[str] | None


class ProblemKind(StrEnum):
    """What a signup must ask for again."""

    CODE = "code"
    PIN = "pin"


class SignupProblem(NamedTuple):
    """An error of a signup in the words of the number's owner.

    ``wait_seconds`` is None unless the network limits the retries.
    """

    text: str | None
    wait_seconds: int | None
    kind: ProblemKind | None


@dataclass(frozen=True)
class MediaUpload:
    """A file to upload: ``content`` from its current position to its end, ``size`` bytes."""

    content: IO[bytes]
    size: int
    mime_type: str


class MediaDownload(Protocol):
    """A media object that is being downloaded. ``size`` is in bytes, None if unknown."""

    mime_type: str
    size: int | None

    def __aiter__(self) -> AsyncIterator[bytes]:
        """The bytes in pieces, once. Raises AmbiguousError for a wrong length or checksum."""

    async def close(self) -> None:
        """End the download, complete or not."""


@dataclass(frozen=True)
class TemplateDefinition:
    """A message template at the network, with the network's values.

    ``components`` are the network's objects, unchanged. Values that are None are unknown.
    """

    id: str
    name: str
    language: str
    status: str
    category: str
    components: list[Any]
    quality_score: str | None = None
    rejected_reason: str | None = None
    parameter_format: str | None = None
    message_send_ttl_seconds: int | None = None


class FileTypes(NamedTuple):
    """The files that a network takes. ``limits`` are the most bytes of each content type.

    ``extensions`` are file name extensions with their content types. ``aliases`` are other names of these
    types, which clients send.
    """

    limits: Mapping[str, int]
    extensions: Mapping[str, str]
    aliases: Mapping[str, str] = {}

    def plain(self, mime_type: str) -> str:
        """The network's name of a content type, without parameters."""
        bare = mime_type.partition(";")[0].strip().lower()
        return self.aliases.get(bare, bare)

    def extension_of(self, mime_type: str) -> str:
        """The usual extension of files of a content type, with its dot. Empty if unknown."""
        wanted = self.plain(mime_type)
        ours = (extension for extension, each in self.extensions.items() if each == wanted)
        return next(ours, None) or OTHER_TYPES.guess_extension(wanted) or ""


class Halt(StrEnum):
    """Why a number cannot continue to send the same content to many people."""

    TEMPLATE = "template_not_sendable"
    LIMITED = "number_limited"
    MESSAGING_LIMIT = "messaging_limit"


class Network(Protocol):
    """What every messaging network can do. The methods with a body fit one without HTTP, media and signup."""

    files: FileTypes
    # How long after a person's message free-form messages may be sent, in milliseconds.
    service_window_ms: int
    # The code and text of an error, for samples of events.
    sample_error: tuple[str, str]
    # How the events of notices begin that announce a ban.
    violation: str
    # What each code of an error means and what to do, in sentences.
    explanations: Mapping[str, str]
    # The code of an error that says that the person opted out of marketing, None if there is none.
    opt_out: str | None
    # The codes of errors of a send that show that its template is not as the gateway knows it.
    template_differs: frozenset[str]
    # The codes of refusals of a send whose reason can pass, such as the state of a template or of the person.
    passing_refusals: frozenset[str]
    # The codes of errors after which no message like it will be accepted for now, from any recipient.
    halts: Mapping[str, Halt] = {}
    # The codes of errors that concern only this number and this person, for seconds.
    pair_limits: frozenset[str] = frozenset()
    # The values of a number's quality, and of events of notices, at which it should send no more broadcasts.
    low_quality: frozenset[str] = frozenset()
    # The messages a second that a number may send, by the network's name of its throughput.
    throughputs: Mapping[str, int] = {}
    # Those of a number whose throughput has no known name.
    usual_throughput: int = 1_000

    async def send(self, sender: Sender, message: OutboundMessage) -> Acceptance:
        """Send a message."""

    async def close(self) -> None:
        """Close the connections of this event loop."""

    def challenge(self, query: Mapping[str, str]) -> str | None:
        """The response to a request that verifies the callback URL, None if it is not the network's."""
        return None

    def is_authentic(self, body: bytes, headers: Mapping[str, str]) -> bool:
        """Whether the network sent this callback. ``headers`` ignores the case of names."""
        return False

    def recognizes(self, body: bytes) -> bool:
        """Whether the network wrote this callback."""

    def owner(self, body: bytes) -> bytes:
        """The platform's account that a callback is about, empty if unknown. Found without parsing it."""
        return b""

    def parse(self, body: bytes, now: int) -> list[Part]:
        """All items of a callback, of which some may be Unreadable.

        ``now`` is in milliseconds since the epoch. No item has a later time.
        """

    def people_a_day(self, messaging_limit: str | None) -> int | None:
        """The most people to whom a number with this limit may write first in 24 hours. None for any."""
        return None

    def classify(self, code: str, reason: str) -> NetworkError | None:
        """The exception for an error in a status. None for a code that is no code of the network."""

    def explain(self, code: str, text: str) -> str:
        """What a code means and what to do, for an error with this text. Empty if it is unknown."""
        return self.explanations.get(code, "")

    def media_of(self, type_: str, content: dict[str, Any]) -> dict[str, Any]:
        """The media object in the content of an inbound message, empty if it has none."""
        return {}

    def in_words(self, reason: str) -> str:
        """The reason why a number was lost, in sentences. The text of an error stays unchanged."""
        return reason


@runtime_checkable
class InProcess(Protocol):
    """A network inside this process. It calls ``deliver`` with each of its callbacks, in any thread."""

    deliver: Callable[[bytes], object]


@runtime_checkable
class Receipts(Protocol):
    """Shows people that their messages were read."""

    async def mark_read(self, sender: Sender, wa_message_id: str, *, typing: bool = False) -> None:
        """Show the person that the message was read, and with ``typing`` that a reply is being written.

        A repetition changes nothing.
        """


@runtime_checkable
class Groups(Protocol):
    """Lets numbers write in groups."""

    async def send_to_group(self, sender: Sender, message: OutboundMessage) -> Acceptance:
        """Send a message to its group. The response names no person."""


@runtime_checkable
class Media(Protocol):
    """Stores files for messages."""

    async def upload_media(self, sender: Sender, upload: MediaUpload) -> str:
        """Upload a file for sending. Returns the network's identifier, which is valid for 30 days."""

    async def open_media(self, sender: Sender, media_id: str) -> MediaDownload:
        """Open a media object from an inbound message of the number. Raises MediaGoneError."""


@runtime_checkable
class Signup(Protocol):
    """Connects numbers that their owners release in a browser."""

    def signup_problem(self, code: str) -> SignupProblem | None:
        """What the code of an error means for a signup. None for any other code."""

    async def exchange_code(self, code: str) -> str:
        """Exchange the code of the embedded signup (single use, 30 s) for the customer's token."""

    async def inspect_token(self, access_token: str) -> TokenGrant:
        """The permissions of the token, and whether it belongs to this app."""

    async def list_numbers(self, waba_id: str, access_token: str) -> list[NumberProfile]:
        """The numbers of a business account that the token has access to."""

    async def subscribe(self, waba_id: str, access_token: str) -> None:
        """Subscribe to the callbacks of a business account."""

    async def register(self, sender: Sender, pin: str) -> None:
        """Register a number for sending, with its two-step PIN."""


@runtime_checkable
class AppData(Protocol):
    """Numbers may be used in an app of the network, too, which has contacts and a history."""

    async def request_app_data(self, sender: Sender) -> None:
        """Have the network send the contacts and the history of the number's app as callbacks."""


@runtime_checkable
class Health(Protocol):
    """Knows the state of its numbers."""

    async def get_number(self, sender: Sender) -> NumberProfile:
        """The number's current state at the network."""


@runtime_checkable
class Subscriptions(Protocol):
    """Sends callbacks only to those who subscribed to them."""

    async def get_route(self, sender: Sender, waba_id: str, callback_url: str) -> Route:
        """Where callbacks about the number go. ``callback_url`` is ours."""

    async def restore_route(self, sender: Sender, waba_id: str, callback_url: str) -> None:
        """Subscribe again to all that is missing, and end what sends callbacks elsewhere."""


@runtime_checkable
class Checkup(Protocol):
    """Can be checked from here, before something fails."""

    async def get_time(self, seconds: float) -> datetime | None:
        """The network's time, None if it does not say it. Waits for at most ``seconds``."""

    async def verify(self, callback_url: str, seconds: float) -> int:
        """Verify a callback URL like the network. Waits for at most ``seconds``.

        Returns the HTTP status of the response, or 0 for a 200 without the challenge.
        """


@runtime_checkable
class Templates(Protocol):
    """Reviews templates of messages."""

    def check_template(self, template: TemplateDefinition, content: dict[str, Any]) -> None:
        """Raise ContentError if the network would refuse this content of a message of the template."""

    async def list_templates(self, sender: Sender, waba_id: str) -> list[TemplateDefinition]:
        """The message templates of the sender's business account."""

    async def find_templates(
        self, sender: Sender, waba_id: str, name: str
    ) -> list[TemplateDefinition]:
        """Those with this name, in all languages."""

    async def create_template(
        self, sender: Sender, waba_id: str, template: dict[str, Any]
    ) -> TemplateDefinition:
        """Submit a template for review, with name, language, category, components and options."""

    async def update_template(
        self, sender: Sender, template_id: str, changes: dict[str, Any]
    ) -> None:
        """Submit another category or other components of a template for review, or other options."""

    async def delete_template(
        self, sender: Sender, waba_id: str, name: str, template_id: str | None = None
    ) -> None:
        """Delete a template by its identifier, or without one all languages of the name."""


@runtime_checkable
class TemplateSamples(Protocol):
    """Takes files as examples in the headers of templates."""

    sample_files: FileTypes

    async def upload_sample(self, sender: Sender, upload: MediaUpload) -> str:
        """Upload a file. Returns the network's handle, which is valid for a day."""


@runtime_checkable
class Profiles(Protocol):
    """Shows people a business profile of each number."""

    async def get_profile(self, sender: Sender) -> BusinessProfile:
        """The business profile of the number."""

    async def update_profile(self, sender: Sender, changes: Mapping[str, Any]) -> None:
        """Change these values of the profile. An empty text removes one."""


@runtime_checkable
class Blocking(Protocol):
    """Lets numbers block people."""

    async def list_blocked(self, sender: Sender, limit: int, after: str | None) -> BlockedPage:
        """A page of at most ``limit`` people whom the number has blocked. Raises PageGoneError."""

    async def block(self, sender: Sender, people: Sequence[str]) -> BlockResult:
        """Block these people (phone numbers or user ids). Some of them may fail."""

    async def unblock(self, sender: Sender, people: Sequence[str]) -> BlockResult:
        """Unblock these people. Some of them may fail."""
