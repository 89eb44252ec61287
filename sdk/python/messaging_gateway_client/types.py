"""The objects of the API as typed dictionaries. Written by tooling/sdk_python.py: make sdk.

A newer gateway can add properties, and values of enums.
"""

from __future__ import annotations

from typing import Any, Literal, Optional, TypedDict, Union


class Suppression(TypedDict):
    """An opt-out of marketing that is in force, of one phone number or user id."""

    id: Identifier
    person: str | None
    """The phone number or user id. Null after the person was erased."""
    numberId: str | None
    """The only number that sends the person no marketing. Null for all numbers."""
    reason: str | None
    """Your own words, null for none."""
    source: ContactSource
    createdAt: Timestamp


class SuppressionPage(TypedDict):
    """A page of suppressions."""

    data: list[Suppression]
    """The suppressions of this page."""
    pagination: Pagination


class _CreateSuppressionRequestAlways(TypedDict):
    person: PersonId


class CreateSuppressionRequest(_CreateSuppressionRequestAlways, total=False):
    """A person who gets no marketing."""

    numberId: Identifier
    reason: str
    """Your own words, such as how the person asked."""


class ImportSuppressionsRequest(TypedDict):
    """A CSV file. Other parts of the form are ignored."""

    file: str
    """The file, with a file name."""


class ImportedSuppressions(TypedDict):
    """The result of an import."""

    rows: int
    """The lines with a person."""
    added: int
    """Those that suppressed a person."""
    known: int
    """Those that changed nothing, as the person was suppressed already or is in an earlier line."""


class UploadRecipientsRequest(TypedDict):
    """A file of recipients. Other parts of the form are ignored."""

    file: str
    """The file, with a file name."""


RecipientsFileKind = Literal["csv", "ndjson"]
"""- `csv`: a table with a line of names. - `ndjson`: an object in each line."""


RecipientsFileEncoding = Literal["utf-8", "utf-16", "windows-1252", "iso-8859-1"]
"""- `utf-8`, `utf-16`: Unicode. - `windows-1252`, `iso-8859-1`: the file was not Unicode. Check that letters with accents are right."""


class RecipientsFile(TypedDict):
    """Recipients from a file, stored for a broadcast."""

    id: Identifier
    filename: str
    """The name of the file. Characters that are unsafe in file names are replaced."""
    kind: RecipientsFileKind
    encoding: RecipientsFileEncoding
    delimiter: str | None
    """What separates the columns, null for NDJSON."""
    toColumn: str
    """The column with the recipients."""
    referenceColumn: str | None
    """The column with the references, null for none."""
    rows: int
    """The rows of the file, without empty ones. It is the sum of `recipients`, `duplicates` and `wrong`."""
    recipients: int
    """The people who are stored."""
    duplicates: int
    """Rows that are left out because an earlier one has the same person."""
    wrong: int
    """Rows that are left out because they are wrong."""
    errors: list[RecipientsFileError]
    """The first wrong rows."""
    columns: list[RecipientsFileColumn]
    """The parameters of the recipients."""
    broadcastId: str | None
    """The broadcast that uses the recipients, null for none."""
    createdAt: Timestamp
    expiresAt: Timestamp


class RecipientsFileError(TypedDict):
    """What is wrong with a row."""

    line: int
    """The line of the file where the row begins."""
    column: str | None
    """The column, null if the whole row is wrong."""
    message: str
    """What is wrong, and what to do."""
    corrected: str | None
    """The phone number that is certainly meant, null if that is unclear."""


class RecipientsFileColumn(TypedDict):
    """A parameter of the recipients."""

    name: str
    """The name of the parameter."""
    empty: int
    """How many recipients have no text for it."""
    firstEmptyLine: int | None
    """The line of the first of them, null if there is none."""


class UploadMediaRequest(TypedDict):
    """A file to upload. Other parts of the form are ignored."""

    file: str
    """The file, with a file name. Its content type is that of this part, or that of the file name's extension if the part has none or `application/octet-stream`."""


MediaPurpose = Literal["message", "template_sample"]
"""`message`: to send the file. `template_sample`: an example in the header of a template."""


class UploadedMedia(TypedDict):
    """A file that the network stores."""

    id: str
    """The network's identifier of the file. Use it to send the file, or as `example.header_handle` if the file is a sample."""
    mimeType: str
    """Content type of the file, as the network names it."""
    size: int
    """Size in bytes."""
    sha256: str
    """SHA-256 of the file in lowercase hexadecimal."""


MediaContent = str
"""The content of a file."""


Identifier = str
"""An identifier. Those of the gateway start with the kind of the resource (`num_`, `msg_`, `ctc_`, `wh_`, `evt_`, `dlv_`, `att_`) and sort by creation time."""


PhoneNumber = str
"""International format, digits only, without a leading `+`."""


Timestamp = str
"""ISO 8601 with milliseconds and `Z`."""


class Pagination(TypedDict):
    """The position of this page in the list."""

    total: int
    """Number of items in the whole list."""
    limit: int
    """Maximum number of items in this page."""
    offset: int
    """Number of items that were skipped. 0 after `after`."""
    nextCursor: str | None
    """The `after` of the next page. Null after the last item."""


class UncountedPagination(TypedDict):
    """The position of this page in a list without a total."""

    limit: int
    """Maximum number of items in this page."""
    offset: int
    """Always 0."""
    nextCursor: str | None
    """The `after` of the next page. Null after the last item."""


TemplateName = str
"""Lowercase letters, digits and underscores."""


TemplateLanguageCode = str
"""Language code, with or without a country."""


TemplateId = str
"""The network's identifier of a template."""


TemplateStatus = Literal[
    "PENDING",
    "APPROVED",
    "REJECTED",
    "PAUSED",
    "DISABLED",
    "IN_APPEAL",
    "PENDING_DELETION",
    "DELETED",
    "LIMIT_EXCEEDED",
    "ARCHIVED",
    "FLAGGED",
    "UNKNOWN",
]
"""The status of a template. The gateway refuses to send a template that is `PENDING`, `REJECTED`, `PAUSED` or `DISABLED`. For the other statuses, the platform decides."""


TemplateCategory = Literal["MARKETING", "UTILITY", "AUTHENTICATION"]
"""What a template is for. It decides the price, and whether a contact who opted out of marketing gets it."""


TemplateParameterFormat = Literal["POSITIONAL", "NAMED"]
"""Whether the variables have numbers or names."""


class _TemplateAlways(TypedDict):
    id: str
    """The network's identifier."""
    numberIds: list[Identifier]
    """The account's active numbers that can send it. An API key that is limited to numbers sees only its own."""
    name: str
    """The name of the template."""
    language: str
    """Language code, with or without a country."""
    status: TemplateStatus
    category: str
    """`MARKETING`, `UTILITY` or `AUTHENTICATION`, or another category of the platform."""
    components: list[TemplatePart]
    """The parts of the template, as the platform has them."""
    parameterFormat: str | None
    """`POSITIONAL` or `NAMED`; null where the platform does not say."""
    qualityScore: str | None
    """`GREEN`, `YELLOW` or `RED`; null until the platform has a score."""
    rejectedReason: str | None
    """The platform's reason for the rejection, for example `INVALID_FORMAT`."""
    updatedAt: Timestamp


class Template(_TemplateAlways, total=False):
    """A message template in one language."""

    messageSendTtl: int | None
    """For how many seconds the platform tries to deliver a message of the template, -1 for 30 days; null where the platform does not say."""


class TemplatePart(TypedDict, total=False):
    """A component of a template in the platform's format: a `HEADER`, a `BODY`, a `FOOTER`, `BUTTONS`, or a part that the platform adds later."""

    type: str
    """The kind of the part, for example `BODY`."""
    text: str
    """The text with its variables, where the part has one."""


class TemplatePage(TypedDict):
    """A page of templates."""

    data: list[Template]
    """The templates, by name and language."""
    pagination: Pagination


class _CreateTemplateRequestAlways(TypedDict):
    name: TemplateName
    language: TemplateLanguageCode
    category: TemplateCategory
    components: list[DraftTemplatePart]
    """Its parts; each kind once, and always a `BODY`."""


class CreateTemplateRequest(_CreateTemplateRequestAlways, total=False):
    """A template to be reviewed."""

    parameterFormat: TemplateParameterFormat
    allowCategoryChange: bool
    """True if the platform may change the category at the review instead of rejecting the template."""
    messageSendTtl: MessageSendTtl


MessageSendTtl = int
"""For how many seconds the platform tries to deliver a message of the template. The platform's limits depend on the category: 30 to 900 for `AUTHENTICATION`, 30 to 43,200 for `UTILITY`, 43,200 to 2,592,000 for `MARKETING`."""


class UpdateTemplateRequest(TypedDict, total=False):
    """What changes. Other properties of the template stay."""

    category: TemplateCategory
    components: list[DraftTemplatePart]
    """All its parts; each kind once, and always a `BODY`."""
    messageSendTtl: MessageSendTtl


DraftTemplatePart = Union[
    "DraftTemplateHeader",
    "DraftTemplateBody",
    "DraftTemplateFooter",
    "DraftTemplateButtons",
    "DraftTemplateOffer",
    "DraftTemplateCarousel",
]
"""A part of a new template. `type` selects its schema."""


TemplateHeaderFormat = Literal["TEXT", "IMAGE", "VIDEO", "DOCUMENT", "LOCATION"]
"""What stands above the text."""


class _DraftTemplateHeaderAlways(TypedDict):
    type: Literal["HEADER"]
    """Always `HEADER`."""
    format: TemplateHeaderFormat


class DraftTemplateHeader(_DraftTemplateHeaderAlways, total=False):
    """A text, a file or a place above the text."""

    text: str
    """The text, for the format `TEXT`; it may hold one variable."""


class _DraftTemplateBodyAlways(TypedDict):
    type: Literal["BODY"]
    """Always `BODY`."""


class DraftTemplateBody(_DraftTemplateBodyAlways, total=False):
    """The text."""

    text: str
    """The text with its variables. The platform writes that of an `AUTHENTICATION` template itself."""
    add_security_recommendation: bool
    """For `AUTHENTICATION`, whether the text asks not to share the code."""


class _DraftTemplateFooterAlways(TypedDict):
    type: Literal["FOOTER"]
    """Always `FOOTER`."""


class DraftTemplateFooter(_DraftTemplateFooterAlways, total=False):
    """A line below the text, without variables."""

    text: str
    """The line."""
    code_expiration_minutes: int
    """For `AUTHENTICATION`, how long the code is good."""


class DraftTemplateButtons(TypedDict):
    """The buttons."""

    type: Literal["BUTTONS"]
    """Always `BUTTONS`."""
    buttons: list[DraftTemplateButton]
    """The buttons, in their order."""


class _DraftTemplateButtonAlways(TypedDict):
    type: str
    """The kind, for example `QUICK_REPLY`, `URL`, `PHONE_NUMBER`, `COPY_CODE`, `OTP`, `FLOW` or `CATALOG`."""


class DraftTemplateButton(_DraftTemplateButtonAlways, total=False):
    """A button. Other properties, such as those of a flow or a one-time password, are passed to the platform."""

    text: str
    """The label."""
    url: str
    """For `URL`, the address; it may end with the variable `{{1}}`."""
    phone_number: str
    """For `PHONE_NUMBER`, the number to call."""


class DraftTemplateOffer(TypedDict):
    """An offer with an end, above the text."""

    type: Literal["LIMITED_TIME_OFFER"]
    """Always `LIMITED_TIME_OFFER`."""
    limited_time_offer: DraftTemplateOfferTerms


class _DraftTemplateOfferTermsAlways(TypedDict):
    text: str
    """What the offer is."""


class DraftTemplateOfferTerms(_DraftTemplateOfferTermsAlways, total=False):
    """The terms of an offer."""

    has_expiration: bool
    """Whether the message shows when the offer ends."""


class DraftTemplateCarousel(TypedDict):
    """Cards beside each other."""

    type: Literal["CAROUSEL"]
    """Always `CAROUSEL`."""
    cards: list[DraftTemplateCard]
    """The cards, in their order."""


class DraftTemplateCard(TypedDict):
    """A card of a carousel, with the parts that the platform allows in it."""

    components: list[TemplatePart]
    """The parts of the card."""


NumberStatus = Literal["PROVISIONING", "ACTIVE", "DISCONNECTED", "BANNED"]
"""`ACTIVE` numbers send and receive. `PROVISIONING`: the signup is not complete. `DISCONNECTED`: the owner or the platform removed the number. `BANNED`: the platform banned it."""


class _ConnectedNumberAlways(TypedDict):
    id: Identifier
    phoneNumber: PhoneNumber
    displayName: str | None
    """The name that the platform shows to recipients."""
    status: NumberStatus
    createdAt: Timestamp
    activatedAt: str | None
    """When the number last became `ACTIVE`."""
    qualityRating: str | None
    """The quality rating from the network, for example `GREEN`, `YELLOW`, `RED` or `UNKNOWN`. Null until the network reports one."""
    messagingLimit: str | None
    """The network's limit of people to whom the business may write first within 24 hours, for example `TIER_2K` or `TIER_UNLIMITED`. Null until the network reports it."""
    statusReason: str | None
    """Why the number is `BANNED` or `DISCONNECTED`, in the network's words. Null in other states, and if it is not known."""
    notice: NumberNotice
    problems: list[NumberProblem]
    """What is wrong with the callbacks about an `ACTIVE` number. Empty if nothing is."""


class ConnectedNumber(_ConnectedNumberAlways, total=False):
    """A connected phone number."""

    throughput: str | None
    """The network's level of messages a second, for example `STANDARD` or `HIGH`. Null until the network reports it."""


class NumberProblem(TypedDict):
    """Why events about the number are missing. The operator of the gateway can restore the subscription."""

    code: NumberProblemCode
    message: str
    """The problem in a sentence."""


NumberProblemCode = Literal[
    "not_subscribed", "callbacks_elsewhere", "fields_missing", "no_callbacks"
]
"""`not_subscribed`: the platform sends no callbacks of the business account. `callbacks_elsewhere`: it sends them to another address. `fields_missing`: it leaves some kinds out. `no_callbacks`: none came although messages were sent."""


class _NumberNoticeAlways(TypedDict):
    field: str
    """The subject, for example `account_alerts` or `phone_number_name_update`."""
    event: str
    """The platform's word for what happened."""
    description: str | None
    """The platform's sentence about it."""
    at: Timestamp


class _NumberNotice(_NumberNoticeAlways, total=False):
    """The latest notice of the platform about the number or its business account, null before the first."""

    restrictions: NumberRestrictions
    limits: BusinessLimits


NumberNotice = Optional[_NumberNotice]


NumberRestrictions = list["NumberRestriction"]
"""What the platform forbids with this notice, empty if nothing."""


class NumberRestriction(TypedDict):
    """Something that the platform forbids for a while."""

    type: str
    """The platform's name, for example `RESTRICTED_BIZ_INITIATED_MESSAGING` (templates), `RESTRICTED_CUSTOMER_INITIATED_MESSAGING` (replies) or `RESTRICTED_ADD_PHONE_NUMBER_ACTION`."""
    until: str | None
    """When it ends, null if the platform does not say."""


class _BusinessLimits(TypedDict):
    """Limits of the business that the notice names, each null if it does not; null if it names none. The limit of conversations by tier is the number's `messagingLimit`."""

    maxConversationsPerNumber: int | None
    """How many people a number may write to first in 24 hours; -1 without a limit."""
    maxNumbersPerBusiness: int | None
    """How many numbers the business may have."""
    maxNumbersPerAccount: int | None
    """How many numbers this business account may have."""


BusinessLimits = Optional[_BusinessLimits]


PersonId = str
"""The phone number of a person (7 to 15 digits, without a leading 0 or `+`) or the user id, such as `US.13491208655302741918`."""


class BusinessProfile(TypedDict):
    """The public profile of the business behind a number. Properties without a value are null."""

    about: str | None
    """A line about the business."""
    address: str | None
    """Postal address."""
    description: str | None
    """What the business does."""
    email: str | None
    """Email address."""
    websites: list[str]
    """Addresses of web pages."""
    vertical: str | None
    """The network's category of the business, for example `RETAIL`."""
    profilePictureUrl: str | None
    """Where the picture is, for some time."""


class UpdateProfileRequest(TypedDict, total=False):
    """The properties to change, at least one."""

    about: str
    """A line about the business."""
    address: str
    """Postal address."""
    description: str
    """What the business does."""
    email: str
    """Email address, or an empty text for none."""
    websites: list[str]
    """Addresses of web pages. They replace the present ones."""
    vertical: str
    """The kind of business, in one of the network's words."""


class BlockedPerson(TypedDict):
    """A person whom the number has blocked."""

    phone: str | None
    """Phone number, null if it is not known."""
    userId: str | None
    """User id, null if it is not known."""


class BlockedPage(TypedDict):
    """A page of blocked people."""

    data: list[BlockedPerson]
    """The people of this page."""
    pagination: UncountedPagination
    after: str | None
    """The earlier name of `pagination.nextCursor`."""


class BlockPeopleRequest(TypedDict):
    """The people to block."""

    people: list[PersonId]
    """Phone numbers or user ids."""


class BlockPeopleResult(TypedDict):
    """Who was blocked and who was not, as they were given."""

    blocked: list[PersonId]
    """The people who are blocked now."""
    failed: list[BlockFailure]
    """The people who are not."""


class BlockFailure(TypedDict):
    """Why a person was not blocked."""

    person: PersonId
    error: BlockError


class _BlockErrorAlways(TypedDict):
    code: str
    """The network's error code."""
    message: str
    """The network's text, then the meaning of the code and what to do."""


class BlockError(_BlockErrorAlways, total=False):
    """The network's error."""

    networkTitle: NetworkTitle
    networkMessage: NetworkMessage
    networkDetails: NetworkDetails
    networkTraceId: NetworkTraceId
    networkRestriction: NetworkRestriction
    networkRestrictedUntil: Timestamp


class NumberPage(TypedDict):
    """A page of numbers."""

    data: list[ConnectedNumber]
    """The numbers, newest first."""
    pagination: Pagination


class _TextContentAlways(TypedDict):
    body: str
    """The message text. Every character except NUL is allowed."""


class TextContent(_TextContentAlways, total=False):
    """The content of a message of type `text`."""

    preview_url: bool
    """Whether the recipient sees a preview of the first link in the text."""


MediaLink = str
"""Address from which the messaging network fetches the file, http or https. The host is a name, also one with underscores or letters of any script, or an address."""


class MediaByLink(TypedDict):
    """A file that the messaging network fetches from an address."""

    link: MediaLink


class MediaById(TypedDict):
    """A file that was uploaded with `POST /numbers/{number_id}/media`."""

    id: Identifier


class _CaptionedMediaByLinkAlways(TypedDict):
    link: MediaLink


class CaptionedMediaByLink(_CaptionedMediaByLinkAlways, total=False):
    """A file that the messaging network fetches from an address."""

    caption: str
    """Text below it."""


class _CaptionedMediaByIdAlways(TypedDict):
    id: Identifier


class CaptionedMediaById(_CaptionedMediaByIdAlways, total=False):
    """A file that was uploaded with `POST /numbers/{number_id}/media`."""

    caption: str
    """Text below it."""


class _AudioByLinkAlways(TypedDict):
    link: MediaLink


class AudioByLink(_AudioByLinkAlways, total=False):
    """An audio file that the messaging network fetches from an address."""

    voice: bool
    """Whether to show it as a voice message. Ogg with Opus only."""


class _AudioByIdAlways(TypedDict):
    id: Identifier


class AudioById(_AudioByIdAlways, total=False):
    """An audio file that was uploaded with `POST /numbers/{number_id}/media`."""

    voice: bool
    """Whether to show it as a voice message. Ogg with Opus only."""


class _NamedDocumentByLinkAlways(TypedDict):
    link: MediaLink


class NamedDocumentByLink(_NamedDocumentByLinkAlways, total=False):
    """A document that the messaging network fetches from an address."""

    filename: str
    """The file name that the recipient sees."""


class _NamedDocumentByIdAlways(TypedDict):
    id: Identifier


class NamedDocumentById(_NamedDocumentByIdAlways, total=False):
    """A document that was uploaded with `POST /numbers/{number_id}/media`."""

    filename: str
    """The file name that the recipient sees."""


class _DocumentByLinkAlways(TypedDict):
    link: MediaLink


class DocumentByLink(_DocumentByLinkAlways, total=False):
    """A document that the messaging network fetches from an address."""

    caption: str
    """Text below it."""
    filename: str
    """The file name that the recipient sees."""


class _DocumentByIdAlways(TypedDict):
    id: Identifier


class DocumentById(_DocumentByIdAlways, total=False):
    """A document that was uploaded with `POST /numbers/{number_id}/media`."""

    caption: str
    """Text below it."""
    filename: str
    """The file name that the recipient sees."""


MediaSource = Union["MediaByLink", "MediaById"]
"""A file, by `link` or by `id`."""


NamedDocumentSource = Union["NamedDocumentByLink", "NamedDocumentById"]
"""A document, by `link` or by `id`."""


ImageContent = Union["CaptionedMediaByLink", "CaptionedMediaById"]
"""The content of a message of type `image`, by `link` or by `id`. JPEG or PNG, up to 5 MiB."""


VideoContent = Union["CaptionedMediaByLink", "CaptionedMediaById"]
"""The content of a message of type `video`, by `link` or by `id`. MP4 or 3GP, up to 16 MiB."""


AudioContent = Union["AudioByLink", "AudioById"]
"""The content of a message of type `audio`, by `link` or by `id`. Up to 16 MiB."""


DocumentContent = Union["DocumentByLink", "DocumentById"]
"""The content of a message of type `document`, by `link` or by `id`. Up to 100 MiB."""


StickerContent = Union["MediaByLink", "MediaById"]
"""The content of a message of type `sticker`, by `link` or by `id`. WebP, up to 500 KiB."""


class _LocationContentAlways(TypedDict):
    latitude: float
    """Degrees north."""
    longitude: float
    """Degrees east."""


class LocationContent(_LocationContentAlways, total=False):
    """The content of a message of type `location`."""

    name: str
    """Name of the place."""
    address: str
    """Address of the place."""


class _ContactNameAlways(TypedDict):
    formatted_name: str
    """The name as WhatsApp shows it."""


class ContactName(_ContactNameAlways, total=False):
    """A person's name."""

    first_name: str
    """First name."""
    last_name: str
    """Last name."""
    middle_name: str
    """Middle name."""
    prefix: str
    """Text before the name, for example a title."""
    suffix: str
    """Text after the name, for example a degree."""


class _ContactPhoneAlways(TypedDict):
    phone: str
    """The phone number, in any format."""


class ContactPhone(_ContactPhoneAlways, total=False):
    """A phone number of a contact."""

    type: str
    """For example `HOME` or `WORK`."""
    wa_id: PhoneNumber


class _ContactEmailAlways(TypedDict):
    email: str
    """The address."""


class ContactEmail(_ContactEmailAlways, total=False):
    """An e-mail address of a contact."""

    type: str
    """For example `HOME` or `WORK`."""


class ContactAddress(TypedDict, total=False):
    """A postal address of a contact."""

    street: str
    """Street and house."""
    city: str
    """City."""
    state: str
    """State or province."""
    zip: str
    """Postal code."""
    country: str
    """Country."""
    country_code: str
    """Country code of two letters."""
    type: str
    """For example `HOME` or `WORK`."""


class ContactOrganization(TypedDict, total=False):
    """The contact's employer."""

    company: str
    """Company."""
    department: str
    """Department."""
    title: str
    """Job title."""


class _ContactUrlAlways(TypedDict):
    url: str
    """Address of the page."""


class ContactUrl(_ContactUrlAlways, total=False):
    """A web page of a contact."""

    type: str
    """For example `HOME` or `WORK`."""


class _ContactCardAlways(TypedDict):
    name: ContactName


class ContactCard(_ContactCardAlways, total=False):
    """A contact card of one person."""

    phones: list[ContactPhone]
    """Phone numbers."""
    emails: list[ContactEmail]
    """E-mail addresses."""
    addresses: list[ContactAddress]
    """Postal addresses."""
    org: ContactOrganization
    urls: list[ContactUrl]
    """Web pages."""
    birthday: str
    """Date of birth, YYYY-MM-DD."""


class Contact(TypedDict):
    """A person who exchanges messages with one of your numbers. Until `windowOpenUntil`, 24 hours after the person's last message or call, you may send messages other than templates. `windowOpenUntil` is null while the window is closed. Messages in groups, and those that announce a change of the person, do not open it. `lastInboundAt` and `lastOutboundAt` are null if no such message is stored."""

    id: Identifier
    numberId: Identifier
    phone: str | None
    """Phone number, digits only; null if it is not known."""
    userId: str | None
    """Identifier of the person for your business at the network. It changes with the phone number."""
    parentUserId: str | None
    """Identifier of the person for all business portfolios that yours belongs to."""
    username: str | None
    """Username, without `@`."""
    name: str | None
    """Name in the person's profile."""
    optedOut: bool
    """Whether the person wants no marketing."""
    optedOutAt: str | None
    """When the person opted out; null if the person has not."""
    optedOutBecause: str | None
    """How the gateway learned it, a ContactSource. Null if the person has not opted out."""
    savedName: SavedName
    note: str | None
    """Your own note."""
    windowOpenUntil: str | None
    """When the customer service window closes; null while it is closed."""
    lastInboundAt: str | None
    """When the person last wrote; null if no such message is kept."""
    lastOutboundAt: str | None
    """When you last wrote to the person; null if no such message is kept."""
    createdAt: Timestamp


class ContactDetail(TypedDict):
    """A contact with its history."""

    id: Identifier
    numberId: Identifier
    phone: str | None
    """Phone number, digits only; null if it is not known."""
    userId: str | None
    """Identifier of the person for your business at the network. It changes with the phone number."""
    parentUserId: str | None
    """Identifier of the person for all business portfolios that yours belongs to."""
    username: str | None
    """Username, without `@`."""
    name: str | None
    """Name in the person's profile."""
    optedOut: bool
    """Whether the person wants no marketing."""
    optedOutAt: str | None
    """When the person opted out; null if the person has not."""
    optedOutBecause: str | None
    """How the gateway learned it, a ContactSource. Null if the person has not opted out."""
    savedName: SavedName
    note: str | None
    """Your own note."""
    windowOpenUntil: str | None
    """When the customer service window closes; null while it is closed."""
    lastInboundAt: str | None
    """When the person last wrote; null if no such message is kept."""
    lastOutboundAt: str | None
    """When you last wrote to the person; null if no such message is kept."""
    createdAt: Timestamp
    history: list[ContactChange]
    """The last 100 changes, oldest first, and how the gateway learned of each."""


class ContactChange(TypedDict):
    """One change of a contact."""

    field: str
    """What changed: `phone`, `userId`, `parentUserId`, `username`, `name`, `savedName`, `optedOut`, or `contact` when another contact turned out to be the same person."""
    old: str | None
    """The old value; null if it was not known. For `contact` the identifier of the merged contact."""
    new: str | None
    """The new value; null if the old one now belongs to another person."""
    because: ContactSource
    at: Timestamp


class ContactPage(TypedDict):
    """A page of contacts."""

    data: list[Contact]
    """The contacts of this page."""
    pagination: Pagination


class UpdateContactRequest(TypedDict, total=False):
    """What to change of a contact."""

    optedOut: bool
    """Whether the person wants no marketing."""
    note: str
    """Your own note. An empty text removes it."""


ContactsContent = list["ContactCard"]
"""The content of a message of type `contacts`."""


class ReactionContent(TypedDict):
    """The content of a message of type `reaction`."""

    message_id: Identifier
    emoji: str
    """The emoji. An empty string removes the reaction."""


InteractiveContent = Union[
    "InteractiveButtons",
    "InteractiveList",
    "InteractiveCtaUrl",
    "InteractiveFlow",
    "InteractiveLocationRequest",
    "InteractiveContactRequest",
    "InteractiveProduct",
    "InteractiveProductList",
    "InteractiveCatalog",
    "InteractiveAddressRequest",
    "InteractiveCarousel",
    "InteractiveOrderDetails",
    "InteractiveOrderStatus",
    "InteractiveCallPermission",
    "InteractiveVoiceCall",
]
"""The content of a message of type `interactive`. `type` selects its schema."""


class _InteractiveButtonsAlways(TypedDict):
    type: Literal["button"]
    """Always `button`."""
    body: InteractiveButtonsBody
    action: InteractiveButtonsAction


class InteractiveButtons(_InteractiveButtonsAlways, total=False):
    """Up to three reply buttons. The network refuses equal ids or titles."""

    header: InteractiveHeader
    footer: InteractiveFooter


class InteractiveButtonsBody(TypedDict):
    """The text of the message."""

    text: str
    """The text."""


class InteractiveButtonsAction(TypedDict):
    """The buttons of an interactive message."""

    buttons: list[ReplyButton]
    """The buttons, from top to bottom."""


class ReplyButton(TypedDict):
    """A button that sends a reply."""

    type: Literal["reply"]
    """Always `reply`."""
    reply: Reply


class Reply(TypedDict):
    """The label of a reply button, and the id that the reply carries."""

    id: str
    """The id that the reply carries."""
    title: str
    """Label."""


class _InteractiveListAlways(TypedDict):
    type: Literal["list"]
    """Always `list`."""
    body: InteractiveListBody
    action: InteractiveListAction


class InteractiveList(_InteractiveListAlways, total=False):
    """A list that a button opens. The network refuses more than 10 rows in all, equal row ids, and several sections of which one has no title."""

    header: TextHeader
    footer: InteractiveFooter


class InteractiveListBody(TypedDict):
    """The text above the button."""

    text: str
    """The text."""


class InteractiveListAction(TypedDict):
    """The list of an interactive message."""

    button: str
    """The label of the button that opens the list."""
    sections: list[ListSection]
    """The sections of the list."""


class _ListSectionAlways(TypedDict):
    rows: list[ListRow]
    """The rows of the section."""


class ListSection(_ListSectionAlways, total=False):
    """A section of a list."""

    title: str
    """Title of the section."""


class _ListRowAlways(TypedDict):
    id: str
    """The id that the reply carries."""
    title: str
    """Label."""


class ListRow(_ListRowAlways, total=False):
    """A row of a list."""

    description: str
    """Second line below the label."""


class _InteractiveCtaUrlAlways(TypedDict):
    type: Literal["cta_url"]
    """Always `cta_url`."""
    body: InteractiveButtonsBody
    action: CtaUrlAction


class InteractiveCtaUrl(_InteractiveCtaUrlAlways, total=False):
    """A button that opens a web page."""

    header: InteractiveHeader
    footer: InteractiveFooter


class CtaUrlAction(TypedDict):
    """The button of a message of type `cta_url`."""

    name: Literal["cta_url"]
    """Always `cta_url`."""
    parameters: CtaUrlParameters


class CtaUrlParameters(TypedDict):
    """The label of the button, and where it leads."""

    display_text: str
    """The label."""
    url: str
    """The address, `http` or `https`."""


class _InteractiveFlowAlways(TypedDict):
    type: Literal["flow"]
    """Always `flow`."""
    body: InteractiveButtonsBody
    action: FlowAction


class InteractiveFlow(_InteractiveFlowAlways, total=False):
    """A button that opens a flow of the business account: forms in the chat."""

    header: InteractiveHeader
    footer: InteractiveFooter


class FlowAction(TypedDict):
    """The button of a message of type `flow`."""

    name: Literal["flow"]
    """Always `flow`."""
    parameters: FlowParameters


class _FlowParametersAlways(TypedDict):
    flow_message_version: str
    """Version of this format, `3` at present."""
    flow_cta: str
    """The label of the button."""


class FlowParameters(_FlowParametersAlways, total=False):
    """The flow, and how it starts. The network requires exactly one of `flow_id` and `flow_name`."""

    flow_id: str
    """Identifier of the flow."""
    flow_name: str
    """Name of the flow."""
    flow_token: str
    """The network returns it in the reply and in requests to the endpoint of your flow."""
    mode: FlowMode
    flow_action: FlowStart
    flow_action_payload: FlowPayload


FlowMode = Literal["published", "draft"]
"""Which version of the flow opens."""


FlowStart = Literal["navigate", "data_exchange"]
"""How the flow starts."""


class _FlowPayloadAlways(TypedDict):
    screen: str
    """Identifier of the screen."""


class FlowPayload(_FlowPayloadAlways, total=False):
    """The first screen, and the data for it."""

    data: FlowData


FlowData = dict[str, Any]
"""Data for the screen, as the flow defines it."""


class InteractiveLocationRequest(TypedDict):
    """A button with which the person sends their location."""

    type: Literal["location_request_message"]
    """Always `location_request_message`."""
    body: InteractiveButtonsBody
    action: SendLocationAction


class SendLocationAction(TypedDict):
    """The button of a message of type `location_request_message`."""

    name: Literal["send_location"]
    """Always `send_location`."""


class InteractiveContactRequest(TypedDict):
    """A button with which a person who hides their phone number shares it."""

    type: Literal["request_contact_info"]
    """Always `request_contact_info`."""
    body: InteractiveButtonsBody
    action: ContactRequestAction


class ContactRequestAction(TypedDict):
    """The button of a message of type `request_contact_info`."""

    name: Literal["request_contact_info"]
    """Always `request_contact_info`."""


class _InteractiveProductAlways(TypedDict):
    type: Literal["product"]
    """Always `product`."""
    action: ProductAction


class InteractiveProduct(_InteractiveProductAlways, total=False):
    """One product of a catalog."""

    body: InteractiveButtonsBody
    footer: InteractiveFooter


class ProductAction(TypedDict):
    """The product."""

    catalog_id: str
    """Identifier of the catalog."""
    product_retailer_id: str
    """Identifier of the product in the catalog."""


class _InteractiveProductListAlways(TypedDict):
    type: Literal["product_list"]
    """Always `product_list`."""
    header: TextHeader
    body: InteractiveButtonsBody
    action: ProductListAction


class InteractiveProductList(_InteractiveProductListAlways, total=False):
    """Products of a catalog, in sections. The network refuses more than 30 products in all, and several sections of which one has no title."""

    footer: InteractiveFooter


class ProductListAction(TypedDict):
    """The products."""

    catalog_id: str
    """Identifier of the catalog."""
    sections: list[ProductSection]
    """The sections of the list."""


class _ProductSectionAlways(TypedDict):
    product_items: list[ProductItem]
    """The products of the section."""


class ProductSection(_ProductSectionAlways, total=False):
    """A section of products."""

    title: str
    """Title of the section."""


class ProductItem(TypedDict):
    """A product."""

    product_retailer_id: str
    """Identifier of the product in the catalog."""


class _InteractiveCatalogAlways(TypedDict):
    type: Literal["catalog_message"]
    """Always `catalog_message`."""
    body: InteractiveButtonsBody
    action: CatalogAction


class InteractiveCatalog(_InteractiveCatalogAlways, total=False):
    """A button that opens the whole catalog."""

    footer: InteractiveFooter


class _CatalogActionAlways(TypedDict):
    name: Literal["catalog_message"]
    """Always `catalog_message`."""


class CatalogAction(_CatalogActionAlways, total=False):
    """The button of a message of type `catalog_message`."""

    parameters: CatalogParameters


class CatalogParameters(TypedDict):
    """How the catalog is shown."""

    thumbnail_product_retailer_id: str
    """The product whose image is shown."""


class _InteractiveAddressRequestAlways(TypedDict):
    type: Literal["address_message"]
    """Always `address_message`."""
    body: InteractiveButtonsBody
    action: AddressAction


class InteractiveAddressRequest(_InteractiveAddressRequestAlways, total=False):
    """A form for a delivery address, in India and Singapore."""

    header: InteractiveHeader
    footer: InteractiveFooter


class AddressAction(TypedDict):
    """The form of a message of type `address_message`."""

    name: Literal["address_message"]
    """Always `address_message`."""
    parameters: AddressParameters


class _AddressParametersAlways(TypedDict):
    country: str
    """Country code (ISO 3166-1), `IN` or `SG`."""


class AddressParameters(_AddressParametersAlways, total=False):
    """What the form shows."""

    values: AddressValues
    saved_addresses: SavedAddresses
    validation_errors: AddressValues


class AddressValues(TypedDict, total=False):
    """Fields of the form with their values, or with an error text each."""

    name: str
    """Name of the recipient."""
    phone_number: str
    """Phone number of the recipient."""
    in_pin_code: str
    """PIN code, in India."""
    sg_post_code: str
    """Post code, in Singapore."""
    house_number: str
    """House number."""
    floor_number: str
    """Floor."""
    tower_number: str
    """Tower."""
    building_name: str
    """Name of the building."""
    unit_number: str
    """Unit."""
    address: str
    """Street and house."""
    landmark_area: str
    """Area, or a landmark."""
    city: str
    """City."""
    state: str
    """State."""


SavedAddresses = list["SavedAddress"]
"""Addresses to choose from."""


class SavedAddress(TypedDict):
    """An address to choose."""

    id: str
    """The id that the reply carries."""
    value: AddressValues


class InteractiveCarousel(TypedDict):
    """Cards that a person scrolls: images or videos with a link or replies each, or products. The network refuses cards of several types, with different numbers of buttons, or with equal positions."""

    type: Literal["carousel"]
    """Always `carousel`."""
    body: InteractiveButtonsBody
    action: CarouselAction


class CarouselAction(TypedDict):
    """The cards of a message of type `carousel`."""

    cards: list[CarouselCard]
    """The cards."""


CarouselCard = Union["MediaCard", "ProductCard"]
"""A card. `type` selects its schema."""


class _MediaCardAlways(TypedDict):
    type: Literal["cta_url"]
    """Always `cta_url`."""
    card_index: int
    """Position of the card, from 0."""
    header: CardHeader
    action: CardAction


class MediaCard(_MediaCardAlways, total=False):
    """A card with an image or a video, and with a link or replies."""

    body: CardBody


CardHeader = Union["ImageHeader", "VideoHeader"]
"""An image or a video. `type` selects its schema."""


class CardBody(TypedDict):
    """The text of a card. The network refuses more than two line breaks."""

    text: str
    """The text."""


CardAction = Union["CtaUrlAction", "CardRepliesAction"]
"""A link, or up to three replies."""


class CardRepliesAction(TypedDict):
    """The replies of a card. The network refuses equal ids or titles."""

    buttons: list[CardReplyButton]
    """The buttons, from top to bottom."""


class CardReplyButton(TypedDict):
    """A button that sends a reply."""

    type: Literal["quick_reply"]
    """Always `quick_reply`."""
    quick_reply: Reply


class ProductCard(TypedDict):
    """A card with a product of a catalog, the same one in all cards."""

    type: Literal["product"]
    """Always `product`."""
    card_index: int
    """Position of the card, from 0."""
    action: ProductAction


class _InteractiveOrderDetailsAlways(TypedDict):
    type: Literal["order_details"]
    """Always `order_details`."""
    body: InteractiveButtonsBody
    action: OrderDetailsAction


class InteractiveOrderDetails(_InteractiveOrderDetailsAlways, total=False):
    """An order with its price, which the person pays in the chat, in Brazil, India and Singapore. The network requires that the subtotal is the sum of the items, and the total is the subtotal with tax and shipping, less the discount."""

    header: ImageHeader
    footer: InteractiveFooter


class OrderDetailsAction(TypedDict):
    """The button of a message of type `order_details`."""

    name: Literal["review_and_pay"]
    """Always `review_and_pay`."""
    parameters: OrderParameters


class _OrderParametersAlways(TypedDict):
    reference_id: str
    """Your identifier of the order. The network requires another one in each message of this type."""
    type: OrderType
    currency: str
    """Currency code (ISO 4217)."""
    total_amount: OrderAmount


class OrderParameters(_OrderParametersAlways, total=False):
    """The order, and how it can be paid."""

    payment_type: str
    """Kind of payment, such as `br` in Brazil or `upi` in India."""
    payment_configuration: str
    """Name of a payment configuration of the business account, in India."""
    payment_settings: list[PaymentSetting]
    """Means of payment to choose from."""
    order: OrderContents
    beneficiaries: list[OrderBeneficiary]
    """Who gets the goods. India requires it for goods that are shipped."""


OrderType = Literal["digital-goods", "physical-goods"]
"""What is sold."""


class PaymentSetting(TypedDict):
    """A means of payment. The network requires a property that is named like `type`, such as `pix_dynamic_code`, `payment_link`, `boleto`, `offsite_card_pay` or `payment_gateway`. Its content depends on the country."""

    type: str
    """Name of the means."""


class OrderAmount(TypedDict):
    """An amount of money."""

    value: int
    """The amount in hundredths, such as 1050 for 10.50."""
    offset: int
    """100. The network takes no other fraction."""


class _OrderFeeAlways(TypedDict):
    value: int
    """The amount in hundredths, such as 1050 for 10.50."""
    offset: int
    """100. The network takes no other fraction."""


class OrderFee(_OrderFeeAlways, total=False):
    """A tax, or the price of shipping."""

    description: str
    """What it is."""


class _OrderDiscountAlways(TypedDict):
    value: int
    """The amount in hundredths, such as 1050 for 10.50."""
    offset: int
    """100. The network takes no other fraction."""


class OrderDiscount(_OrderDiscountAlways, total=False):
    """A discount."""

    description: str
    """What it is."""
    discount_program_name: str
    """Name of the programme."""


class _OrderContentsAlways(TypedDict):
    status: Literal["pending"]
    """Always `pending`."""
    items: list[OrderItem]
    """The items."""
    subtotal: OrderAmount


class OrderContents(_OrderContentsAlways, total=False):
    """What is ordered."""

    catalog_id: str
    """Identifier of the catalog that has the items."""
    expiration: OrderExpiration
    tax: OrderFee
    shipping: OrderFee
    discount: OrderDiscount


class OrderExpiration(TypedDict):
    """Until when the order can be paid."""

    timestamp: str
    """Unix time in seconds."""
    description: str
    """What the person reads after it."""


class _OrderItemAlways(TypedDict):
    retailer_id: str
    """Your identifier of the item."""
    name: str
    """Name of the item."""
    amount: OrderAmount
    quantity: int
    """How many."""


class OrderItem(_OrderItemAlways, total=False):
    """An item of an order."""

    image: MediaByLink
    sale_amount: OrderAmount
    country_of_origin: str
    """Country from which it comes."""
    importer_name: str
    """Name of the importer."""
    importer_address: OrderImporter


class OrderImporter(TypedDict, total=False):
    """Address of the importer."""

    address_line1: str
    """First line."""
    address_line2: str
    """Second line."""
    city: str
    """City."""
    zone_code: str
    """State or province."""
    postal_code: str
    """Postal code."""
    country_code: str
    """Country code."""


class _OrderBeneficiaryAlways(TypedDict):
    name: str
    """Name."""
    address_line1: str
    """First line."""
    country: str
    """Country."""


class OrderBeneficiary(_OrderBeneficiaryAlways, total=False):
    """Name and address of a person who gets the goods."""

    address_line2: str
    """Second line."""
    city: str
    """City."""
    state: str
    """State."""
    postal_code: str
    """Postal code."""


class _InteractiveOrderStatusAlways(TypedDict):
    type: Literal["order_status"]
    """Always `order_status`."""
    body: InteractiveButtonsBody
    action: OrderStatusAction


class InteractiveOrderStatus(_InteractiveOrderStatusAlways, total=False):
    """The state of an order that was sent as `order_details`."""

    footer: InteractiveFooter


class OrderStatusAction(TypedDict):
    """The order of a message of type `order_status`."""

    name: Literal["review_order"]
    """Always `review_order`."""
    parameters: OrderStatusParameters


class OrderStatusParameters(TypedDict):
    """The order, and its state."""

    reference_id: str
    """The identifier in the message of type `order_details`."""
    order: OrderProgress


class _OrderProgressAlways(TypedDict):
    status: OrderState


class OrderProgress(_OrderProgressAlways, total=False):
    """The state of an order."""

    description: str
    """What the person reads."""


OrderState = Literal[
    "pending",
    "captured",
    "failed",
    "processing",
    "partially_shipped",
    "shipped",
    "completed",
    "canceled",
]
"""The state of an order."""


class _InteractiveCallPermissionAlways(TypedDict):
    type: Literal["call_permission_request"]
    """Always `call_permission_request`."""
    action: CallPermissionAction


class InteractiveCallPermission(_InteractiveCallPermissionAlways, total=False):
    """A question whether your business may call the person. The network takes one a day for a person, and two a week."""

    body: InteractiveButtonsBody


class CallPermissionAction(TypedDict):
    """The buttons of a message of type `call_permission_request`."""

    name: Literal["call_permission_request"]
    """Always `call_permission_request`."""


class InteractiveVoiceCall(TypedDict):
    """A button with which the person calls your number in WhatsApp."""

    type: Literal["voice_call"]
    """Always `voice_call`."""
    body: InteractiveButtonsBody
    action: VoiceCallAction


class _VoiceCallActionAlways(TypedDict):
    name: Literal["voice_call"]
    """Always `voice_call`."""


class VoiceCallAction(_VoiceCallActionAlways, total=False):
    """The button of a message of type `voice_call`."""

    parameters: VoiceCallParameters


class VoiceCallParameters(TypedDict, total=False):
    """The label of the button, and how long it works."""

    display_text: str
    """The label. Without it the network chooses one."""
    ttl_minutes: int
    """For how many minutes the button works, 10,080 (7 days) by default."""
    payload: str
    """The network returns it in callbacks about the call."""


class InteractiveFooter(TypedDict):
    """A line of small text at the end."""

    text: str
    """The text."""


InteractiveHeader = Union["TextHeader", "ImageHeader", "VideoHeader", "DocumentHeader"]
"""The header above the text. `type` selects its schema."""


class TextHeader(TypedDict):
    """A line of text."""

    type: Literal["text"]
    """Always `text`."""
    text: str
    """The text."""


class ImageHeader(TypedDict):
    """An image."""

    type: Literal["image"]
    """Always `image`."""
    image: MediaSource


class VideoHeader(TypedDict):
    """A video."""

    type: Literal["video"]
    """Always `video`."""
    video: MediaSource


class DocumentHeader(TypedDict):
    """A document."""

    type: Literal["document"]
    """Always `document`."""
    document: NamedDocumentSource


class _TemplateContentAlways(TypedDict):
    name: str
    """The name of the template."""
    language: TemplateLanguage


class TemplateContent(_TemplateContentAlways, total=False):
    """The content of a message of type `template`. The messaging network must have approved the template."""

    components: list[TemplateComponent]
    """The parameters of the template's variables."""


class _TemplateLanguageAlways(TypedDict):
    code: str
    """Language code, with or without a country."""


class TemplateLanguage(_TemplateLanguageAlways, total=False):
    """The language of the template."""

    policy: Literal["deterministic"]
    """Always `deterministic`, the only way in which the network chooses a language."""


TemplateComponent = Union[
    "TemplateHeader",
    "TemplateBody",
    "TemplateButton",
    "TemplateLimitedTimeOffer",
    "TemplateCarousel",
]
"""The parameters of one part of a template. `type` selects its schema."""


class TemplateHeader(TypedDict):
    """The parameters of a template's header."""

    type: Literal["header"]
    """Always `header`."""
    parameters: list[TemplateHeaderParameter]
    """In the order of the variables."""


class TemplateBody(TypedDict):
    """The parameters of a template's text."""

    type: Literal["body"]
    """Always `body`."""
    parameters: list[TemplateBodyParameter]
    """In the order of the variables, or by their names."""


class TemplateLimitedTimeOffer(TypedDict):
    """The end of a limited-time offer."""

    type: Literal["limited_time_offer"]
    """Always `limited_time_offer`."""
    parameters: list[OfferParameter]
    """One parameter."""


class OfferParameter(TypedDict):
    """When the offer ends."""

    type: Literal["limited_time_offer"]
    """Always `limited_time_offer`."""
    limited_time_offer: OfferValue


class OfferValue(TypedDict):
    """When the offer ends."""

    expiration_time_ms: int
    """Unix time in milliseconds."""


class TemplateCarousel(TypedDict):
    """The parameters of the cards of a carousel."""

    type: Literal["carousel"]
    """Always `carousel`."""
    cards: list[TemplateCard]
    """The cards, each with its parameters."""


class TemplateCard(TypedDict):
    """The parameters of one card."""

    card_index: int
    """Position of the card, from 0."""
    components: list[TemplateCardComponent]
    """The parameters of the card."""


TemplateCardComponent = Union["TemplateHeader", "TemplateBody", "TemplateButton"]
"""The parameters of one part of a card. `type` selects its schema."""


class TemplateButton(TypedDict):
    """The parameter of one button of a template."""

    type: Literal["button"]
    """Always `button`."""
    sub_type: TemplateButtonKind
    index: str
    """Position of the button, from 0."""
    parameters: list[TemplateButtonParameter]
    """A payload for `quick_reply`, a text for `url`, a coupon code for `copy_code`, an action for `catalog`, `mpm` and `flow`."""


TemplateButtonKind = Literal["quick_reply", "url", "copy_code", "catalog", "mpm", "flow"]
"""The kind of a template's button."""


TemplateButtonParameter = Union[
    "PayloadParameter", "TextParameter", "CouponParameter", "ActionParameter"
]
"""The parameter of a button. `type` selects its schema."""


TemplateHeaderParameter = Union[
    "TextParameter",
    "ImageHeader",
    "VideoHeader",
    "DocumentHeader",
    "LocationHeader",
    "ProductHeader",
]
"""A parameter of a template's header. `type` selects its schema."""


TemplateBodyParameter = Union["TextParameter", "CurrencyParameter", "DateTimeParameter"]
"""A parameter of a template's text. `type` selects its schema."""


class _TextParameterAlways(TypedDict):
    type: Literal["text"]
    """Always `text`."""
    text: str
    """The text."""


class TextParameter(_TextParameterAlways, total=False):
    """A text."""

    parameter_name: str
    """Name of the variable, for templates with named variables."""


class PayloadParameter(TypedDict):
    """The payload of a quick reply."""

    type: Literal["payload"]
    """Always `payload`."""
    payload: str
    """The payload that the reply carries."""


class CouponParameter(TypedDict):
    """The code of a coupon."""

    type: Literal["coupon_code"]
    """Always `coupon_code`."""
    coupon_code: str
    """The code that is copied."""


class ActionParameter(TypedDict):
    """What a button `catalog`, `mpm` or `flow` opens."""

    type: Literal["action"]
    """Always `action`."""
    action: TemplateAction


class TemplateAction(TypedDict, total=False):
    """What the button opens: for `catalog` and `mpm` the product whose image is shown, for `mpm` its sections of products, for `flow` its token and data."""

    thumbnail_product_retailer_id: str
    """The product whose image is shown."""
    sections: list[ProductSection]
    """The products. For `mpm`, 30 in all."""
    flow_token: str
    """The network returns it in the reply and in requests to the endpoint of your flow."""
    flow_action_data: FlowData


class LocationHeader(TypedDict):
    """A place."""

    type: Literal["location"]
    """Always `location`."""
    location: LocationContent


class ProductHeader(TypedDict):
    """A product of a catalog."""

    type: Literal["product"]
    """Always `product`."""
    product: ProductAction


class CurrencyParameter(TypedDict):
    """An amount of money."""

    type: Literal["currency"]
    """Always `currency`."""
    currency: CurrencyValue


class CurrencyValue(TypedDict):
    """An amount of money."""

    fallback_value: str
    """Text to show where a local format is not available."""
    code: str
    """Currency code (ISO 4217)."""
    amount_1000: int
    """The amount, multiplied by 1000."""


class DateTimeParameter(TypedDict):
    """A date."""

    type: Literal["date_time"]
    """Always `date_time`."""
    date_time: DateTimeValue


class DateTimeValue(TypedDict):
    """A date."""

    fallback_value: str
    """Text to show where a local format is not available."""


class MessageContext(TypedDict):
    """The message that this one replies to."""

    message_id: Identifier


Reference = str
"""Your own name for the message, such as the number of an order. It need not be unique. The network does not get it. Control characters of ASCII are not allowed."""


MessageReference = Optional[str]
"""The `reference` of the send request. Null without one, and for inbound messages. Events from before the upgrade to this version lack it."""


MessageBroadcast = Optional[str]
"""The broadcast that the message belongs to. Null otherwise."""


SendMessageRequest = Union[
    "SendTextRequest",
    "SendImageRequest",
    "SendVideoRequest",
    "SendAudioRequest",
    "SendDocumentRequest",
    "SendStickerRequest",
    "SendLocationRequest",
    "SendContactsRequest",
    "SendReactionRequest",
    "SendInteractiveRequest",
    "SendTemplateRequest",
]
"""A message to send. `type` selects its schema. The content is in the property that has the name of the type."""


class _SendTextRequestAlways(TypedDict):
    number_id: Identifier
    to: PersonId
    type: Literal["text"]
    """Always `text`."""
    text: TextContent


class SendTextRequest(_SendTextRequestAlways, total=False):
    """A text message, to send."""

    context: MessageContext
    reference: Reference


class _SendImageRequestAlways(TypedDict):
    number_id: Identifier
    to: PersonId
    type: Literal["image"]
    """Always `image`."""
    image: ImageContent


class SendImageRequest(_SendImageRequestAlways, total=False):
    """An image, to send."""

    context: MessageContext
    reference: Reference


class _SendVideoRequestAlways(TypedDict):
    number_id: Identifier
    to: PersonId
    type: Literal["video"]
    """Always `video`."""
    video: VideoContent


class SendVideoRequest(_SendVideoRequestAlways, total=False):
    """A video, to send."""

    context: MessageContext
    reference: Reference


class _SendAudioRequestAlways(TypedDict):
    number_id: Identifier
    to: PersonId
    type: Literal["audio"]
    """Always `audio`."""
    audio: AudioContent


class SendAudioRequest(_SendAudioRequestAlways, total=False):
    """An audio file or voice message, to send."""

    context: MessageContext
    reference: Reference


class _SendDocumentRequestAlways(TypedDict):
    number_id: Identifier
    to: PersonId
    type: Literal["document"]
    """Always `document`."""
    document: DocumentContent


class SendDocumentRequest(_SendDocumentRequestAlways, total=False):
    """A document, to send."""

    context: MessageContext
    reference: Reference


class _SendStickerRequestAlways(TypedDict):
    number_id: Identifier
    to: PersonId
    type: Literal["sticker"]
    """Always `sticker`."""
    sticker: StickerContent


class SendStickerRequest(_SendStickerRequestAlways, total=False):
    """A sticker, to send."""

    context: MessageContext
    reference: Reference


class _SendLocationRequestAlways(TypedDict):
    number_id: Identifier
    to: PersonId
    type: Literal["location"]
    """Always `location`."""
    location: LocationContent


class SendLocationRequest(_SendLocationRequestAlways, total=False):
    """A location, to send."""

    context: MessageContext
    reference: Reference


class _SendContactsRequestAlways(TypedDict):
    number_id: Identifier
    to: PersonId
    type: Literal["contacts"]
    """Always `contacts`."""
    contacts: ContactsContent


class SendContactsRequest(_SendContactsRequestAlways, total=False):
    """Contact cards, to send."""

    context: MessageContext
    reference: Reference


class _SendReactionRequestAlways(TypedDict):
    number_id: Identifier
    to: PersonId
    type: Literal["reaction"]
    """Always `reaction`."""
    reaction: ReactionContent


class SendReactionRequest(_SendReactionRequestAlways, total=False):
    """A reaction to a message, to send."""

    reference: Reference


class _SendInteractiveRequestAlways(TypedDict):
    number_id: Identifier
    to: PersonId
    type: Literal["interactive"]
    """Always `interactive`."""
    interactive: InteractiveContent


class SendInteractiveRequest(_SendInteractiveRequestAlways, total=False):
    """An interactive message to send. It has buttons, a list, a link, a flow, cards, products, an order or a call button, or asks for a location, a phone number, an address or permission to call."""

    context: MessageContext
    reference: Reference


class _SendTemplateRequestAlways(TypedDict):
    number_id: Identifier
    to: PersonId
    type: Literal["template"]
    """Always `template`."""
    template: TemplateContent


class SendTemplateRequest(_SendTemplateRequestAlways, total=False):
    """A template that the messaging network approved, to send."""

    context: MessageContext
    reference: Reference


CreateBroadcastRequest = Union["CreateTemplateBroadcastRequest", "CreateTextBroadcastRequest"]
"""A broadcast to create. `type` selects its schema. The recipients are in `recipients`, or in an uploaded file."""


class _CreateTemplateBroadcastRequestAlways(TypedDict):
    name: BroadcastName
    numberId: Identifier
    type: Literal["template"]
    """Always `template`."""
    template: TemplateContent


class CreateTemplateBroadcastRequest(_CreateTemplateBroadcastRequestAlways, total=False):
    """A template to many people."""

    recipients: BroadcastRecipients
    recipientsFile: Identifier
    skipWrongRows: SkipWrongRows
    ratePerSecond: RatePerSecond
    atMessagingLimit: AtMessagingLimit
    localHours: LocalHoursInput
    startAt: BroadcastStartAt
    expiresAt: BroadcastExpiresAt


class _CreateTextBroadcastRequestAlways(TypedDict):
    name: BroadcastName
    numberId: Identifier
    type: Literal["text"]
    """Always `text`."""
    text: TextContent


class CreateTextBroadcastRequest(_CreateTextBroadcastRequestAlways, total=False):
    """A text to people who wrote within 24 hours."""

    recipients: BroadcastRecipients
    recipientsFile: Identifier
    skipWrongRows: SkipWrongRows
    ratePerSecond: RatePerSecond
    atMessagingLimit: AtMessagingLimit
    localHours: LocalHoursInput
    startAt: BroadcastStartAt
    expiresAt: BroadcastExpiresAt


BroadcastName = str
"""Your own name for the broadcast. People do not see it."""


SkipWrongRows = bool
"""Whether the wrong rows of `recipientsFile` are left out. Otherwise a file with wrong rows is refused with 409."""


BroadcastRecipients = list["BroadcastRecipientInput"]
"""The recipients, each once. Without them, `recipientsFile` is the identifier of an uploaded file."""


class _BroadcastRecipientInputAlways(TypedDict):
    to: PersonId


class BroadcastRecipientInput(_BroadcastRecipientInputAlways, total=False):
    """A recipient."""

    parameters: BroadcastParameters
    reference: Reference


BroadcastParameters = dict[str, str]
"""The values of the placeholders, by their names."""


RatePerSecond = int
"""The most messages a second. Without it, as many as the number may send."""


AtMessagingLimit = Literal["wait", "skip"]
"""What happens to recipients beyond the number's limit of people in 24 hours: they `wait` until it allows more, or the broadcast leaves them out (`skip`)."""


class LocalHoursInput(TypedDict):
    """The hours of the recipient's day in which messages may leave. The time zone is that of the country or area of the phone number. Marketing templates leave between 08:00 and 21:00 if this is missing; 00:00 to 24:00 means at any time."""

    begin: TimeOfDay
    end: TimeOfDay


class _LocalHours(TypedDict):
    """The hours of the recipient's day in which messages may leave. Null for any time."""

    begin: TimeOfDay
    end: TimeOfDay


LocalHours = Optional[_LocalHours]


TimeOfDay = str
"""Hours and minutes, from 00:00 to 24:00."""


BroadcastStartAt = str
"""When it starts, with a time zone, at most 60 days ahead. Without it, it starts at `POST .../start`."""


BroadcastExpiresAt = str
"""When it ends, with a time zone. Those who wait then are skipped."""


class _TestBroadcastRequestAlways(TypedDict):
    to: PersonId


class TestBroadcastRequest(_TestBroadcastRequestAlways, total=False):
    """The person who gets the test."""

    parameters: BroadcastParameters


BroadcastType = Literal["template", "text"]
"""The type of a broadcast's messages."""


BroadcastStatus = Literal["draft", "scheduled", "running", "paused", "done", "cancelled", "expired"]
"""Where a broadcast stands."""


class _BroadcastReason(TypedDict):
    """Why a broadcast is paused. Null while it is not."""

    code: BroadcastReasonCode
    message: str
    """What happened, and what to do."""
    resumeAt: str | None
    """When it continues by itself. Null if somebody must resume it."""


BroadcastReason = Optional[_BroadcastReason]


BroadcastReasonCode = Literal[
    "paused_by_user",
    "template_not_sendable",
    "number_quality",
    "number_limited",
    "messaging_limit",
    "number_not_active",
    "account_action",
    "storage_limit",
    "many_failures",
    "token_unreadable",
    "account_suspended",
]
"""Why a broadcast is paused."""


BroadcastSkipReason = Literal[
    "opted_out",
    "duplicate",
    "no_open_window",
    "invalid_content",
    "messaging_limit",
    "cancelled",
    "expired",
    "erased",
]
"""Why a recipient gets no message."""


class BroadcastCounts(TypedDict):
    """The recipients by outcome. All but `total` add up to `total`."""

    total: int
    """All recipients."""
    waiting: int
    """Recipients without a message yet."""
    pending: int
    """Messages on their way to the network."""
    unknown: int
    """Messages whose outcome is not known yet."""
    sent: int
    """Messages that the network accepted."""
    failed: int
    """Messages that failed."""
    delivered: int
    """Messages that were delivered."""
    read: int
    """Messages that were read."""
    skipped: int
    """Recipients who get no message."""
    removed: int
    """Recipients whose message was erased, or is older than messages are kept."""


class SkippedCount(TypedDict):
    """How many recipients get no message for this reason."""

    reason: BroadcastSkipReason
    count: int
    """The number of recipients."""


class BroadcastUsage(TypedDict):
    """Messages with this price, by what the network reported."""

    category: str | None
    """The network's category, such as `marketing`. Null if it reported none."""
    billable: bool
    """Whether the network bills them."""
    messages: int
    """The number of messages."""


class Broadcast(TypedDict):
    """One content to many recipients."""

    id: Identifier
    name: str
    """Your own name for it."""
    numberId: Identifier
    type: BroadcastType
    body: dict[str, Any]
    """The content with its placeholders, in the form of the `body` of a message."""
    status: BroadcastStatus
    reason: BroadcastReason
    counts: BroadcastCounts
    skipped: list[SkippedCount]
    """The skipped recipients by reason."""
    usage: list[BroadcastUsage]
    """The messages by price."""
    ratePerSecond: int | None
    """The most messages a second that were requested, null for what the number may send."""
    pace: float | None
    """The messages a second that the number may send now. Null unless it is running."""
    atMessagingLimit: AtMessagingLimit
    localHours: LocalHours
    createdAt: Timestamp
    startAt: str | None
    """When it shall start. Null for at once."""
    startedAt: str | None
    """When it started. Null before."""
    estimatedEndAt: str | None
    """When the last message leaves at the present pace. Null unless it is running."""
    endedAt: str | None
    """When it ended. Null before."""
    expiresAt: str | None
    """When it ends at the latest. Null for never."""


class BroadcastPage(TypedDict):
    """A page of broadcasts."""

    data: list[Broadcast]
    """The broadcasts of this page."""
    pagination: Pagination


BroadcastRecipientStatus = Literal[
    "waiting", "pending", "unknown", "sent", "failed", "delivered", "read", "skipped", "removed"
]
"""`waiting` before its message is stored, then the status of the message. `skipped` if there is none, and `removed` if it is no longer kept."""


class BroadcastRecipient(TypedDict):
    """A recipient of a broadcast, with its outcome."""

    to: str | None
    """The phone number or user id. Null after the person was erased."""
    parameters: BroadcastParameters
    reference: str | None
    """Your own name for the message, null without one."""
    status: BroadcastRecipientStatus
    skipReason: str | None
    """Why there is no message, a `BroadcastSkipReason`. Null otherwise."""
    detail: str | None
    """More about the reason, in a sentence. Null if there is none."""
    messageId: str | None
    """The message. Null without one."""
    error: MessageError


class BroadcastRecipientPage(TypedDict):
    """A page of recipients."""

    data: list[BroadcastRecipient]
    """The recipients of this page."""
    pagination: Pagination


class MarkReadRequest(TypedDict, total=False):
    """Options. Without a body, the message is only marked as read."""

    typingIndicator: bool
    """Whether to show that an answer is being written."""


class SentMessage(TypedDict):
    """A message that was sent."""

    id: Identifier
    wa_message_id: str
    """Identifier assigned by the messaging network."""
    status: MessageStatus


Direction = Literal["INBOUND", "OUTBOUND"]
"""`INBOUND` for a received message, `OUTBOUND` for a sent one."""


MessageStatus = Literal["pending", "sent", "delivered", "read", "failed", "unknown", "received"]
"""The status of a message. It never moves backwards."""


class _MessageErrorAlways(TypedDict):
    code: str
    """The network's error code, or a code of the gateway."""
    message: str
    """The network's text, then the meaning of the code and what to do."""


class _MessageError(_MessageErrorAlways, total=False):
    """Why a message failed; null while it has not."""

    networkTitle: NetworkTitle
    networkMessage: NetworkMessage
    networkDetails: NetworkDetails
    networkTraceId: NetworkTraceId
    networkRestriction: NetworkRestriction
    networkRestrictedUntil: Timestamp


MessageError = Optional[_MessageError]


MessageErrors = list["MessageErrorItem"]
"""All errors of a failed message; the first one is `error`. Empty while it has not failed."""


class _MessageErrorItemAlways(TypedDict):
    code: str
    """The network's error code, or a code of the gateway."""
    message: str
    """The network's text, then the meaning of the code and what to do."""


class MessageErrorItem(_MessageErrorItemAlways, total=False):
    """One of the errors of a failed message."""

    networkTitle: NetworkTitle
    networkMessage: NetworkMessage
    networkDetails: NetworkDetails
    networkTraceId: NetworkTraceId
    networkRestriction: NetworkRestriction
    networkRestrictedUntil: Timestamp


NetworkTitle = str
"""The network's title of the error, for people. Absent if the network sends none."""


NetworkMessage = str
"""What the network says to people about the error, often what exactly is wrong. Absent if the network sends nothing."""


NetworkDetails = str
"""The network's technical details of the error, unchanged. Absent if the network sends none."""


NetworkTraceId = str
"""The network's identifier of the call, for its support. Absent if the network sends none."""


NetworkRestriction = str
"""The network's name of the restriction that caused the error, for example `RESTRICTED_BIZ_INITIATED_MESSAGING`. Absent without one. It ends at `networkRestrictedUntil`, if the network sends the end."""


class _MessageAlways(TypedDict):
    id: Identifier
    numberId: Identifier
    direction: Direction
    fromNumber: str
    """The sender's phone number, digits only, or the user id of a person whose number is not known. Send replies to it."""
    toNumber: str
    """The recipient's phone number, digits only, or the user id to which the message was sent."""
    type: str
    """Message type, for example `text`. Inbound messages may have types that cannot be sent, or that did not exist when this contract was written."""
    body: dict[str, Any]
    """The content: `{"body": "..."}` for type `text`, otherwise the object that a send request has in the property of the same name as the type (for `contacts` the array is wrapped: `{"contacts": [...]}`). For an inbound message the object that the network sends, together with members such as `context`, `referral` and `errors`."""
    createdAt: Timestamp
    waMessageId: str | None
    """Identifier assigned by the messaging network; null until it is known."""
    status: MessageStatus
    error: MessageError
    contact: MessageContact
    context: ReplyContext
    pricing: Pricing
    acceptance: Acceptance
    networkTimestamp: NetworkTimestamp
    origin: Origin
    group: Group
    editedAt: EditedAt
    editId: EditId
    deletedAt: DeletedAt


class Message(_MessageAlways, total=False):
    """A message."""

    errors: MessageErrors
    reference: MessageReference
    broadcastId: MessageBroadcast
    truncated: Truncated


Truncated = bool
"""True if `body` is empty because the content of a received message is larger than 65,536 bytes, otherwise absent. `GET /messages/{message_id}` and webhooks have the whole content; lists and the list and stream of events do not."""


Acceptance = Optional[str]
"""The status in the network's response to the send: `accepted`, `held_for_quality_assessment` or `paused`. A held message is sent, or fails, when its template has been assessed; `paused` means that its template is paused. The network may add values. Null without a status."""


NetworkTimestamp = Optional[str]
"""The network's own time: when it received an inbound message, or the latest status of an outbound one. Null if it is not known. `createdAt` may be later, because times in a conversation never decrease."""


Origin = Optional[str]
"""Where the message comes from. `API`: it was sent through this API, also by the dashboard. `APP`: the owner of the number wrote it in the WhatsApp Business app. `HISTORY`: it is older than the connection of the number, in either direction, and came from the history of the app. Null: a person wrote it since then. Values may be added."""


class _Group(TypedDict):
    """The group in which the message was written, or to which it was sent; null outside of groups. Messages in groups do not open the customer service window of the person."""

    id: str
    """Identifier of the group at the network."""


Group = Optional[_Group]


EditedAt = Optional[str]
"""When its author last edited the message; null if never. `body` remains as it was first written."""


EditId = Optional[str]
"""The message that brought the latest edit. Its `body.message` has the new content. Null without an edit."""


DeletedAt = Optional[str]
"""When its author deleted the message for everyone; null if never. Then `body` is empty."""


class _Pricing(TypedDict):
    """The price of an outbound message, as reported by the messaging network. Null until a status reports it, and for inbound messages. If several statuses report a price, the price of the highest status counts; for the same status, the latest."""

    billable: bool | None
    """Whether the network charges for the message; null if it does not report this."""
    model: str | None
    """The network's pricing model, for example `PMP` (per message); null if it does not report this."""
    category: str | None
    """The category that is charged, for example `utility`; null if the network does not report it."""
    type: str | None
    """The kind of price, for example `regular` or `free_customer_service`; null if the network does not say."""


Pricing = Optional[_Pricing]


class MessageContact(TypedDict):
    """The person to whom or from whom the message goes, as far as known."""

    phone: str | None
    """Phone number, digits only; null if it is not known."""
    userId: str | None
    """Identifier of the person for your business at the network, such as `US.13491208655302741918`. It changes with the phone number."""
    parentUserId: str | None
    """Identifier of the person for all business portfolios that yours belongs to."""
    username: str | None
    """Username, without `@`."""
    name: str | None
    """Name in the person's profile."""


class _ReplyContext(TypedDict):
    """The message that this one replies to, reacts to, edits or deletes; null if it does nothing of this."""

    messageId: str | None
    """Identifier of that message; null if the gateway does not have it. Messages may arrive in any order: if that message arrives later, responses have its identifier from then on. The event had null."""
    waMessageId: str
    """Identifier of that message at the network."""


ReplyContext = Optional[_ReplyContext]


UserId = str
"""Identifier of a person at the network."""


SavedName = Optional[str]
"""The name under which the owner of the number keeps the person in the WhatsApp Business app; null if there is none."""


ContactSource = Literal[
    "message", "status", "send", "network", "api", "word", "error", "import", "app"
]
"""The source of a change: an inbound `message`, a `status`, the response to a `send`, a notification of the `network`, a request to the `api`, a `word` with which people opt out or in, or the `error` of a send. `import` is an imported list."""


class _StatusChangeAlways(TypedDict):
    status: MessageStatus
    at: Timestamp
    error: MessageError


class StatusChange(_StatusChangeAlways, total=False):
    """One step in the history of a message."""

    errors: MessageErrors


class _MessageDetailAlways(TypedDict):
    id: Identifier
    numberId: Identifier
    direction: Direction
    fromNumber: str
    """The sender's phone number, digits only, or the user id of a person whose number is not known. Send replies to it."""
    toNumber: str
    """The recipient's phone number, digits only, or the user id to which the message was sent."""
    type: str
    """Message type, for example `text`. Inbound messages may have types that cannot be sent, or that did not exist when this contract was written."""
    body: dict[str, Any]
    """The content: `{"body": "..."}` for type `text`, otherwise the object that a send request has in the property of the same name as the type (for `contacts` the array is wrapped: `{"contacts": [...]}`). For an inbound message the object that the network sends, together with members such as `context`, `referral` and `errors`."""
    createdAt: Timestamp
    waMessageId: str | None
    """Identifier assigned by the messaging network; null until it is known."""
    status: MessageStatus
    error: MessageError
    contact: MessageContact
    context: ReplyContext
    pricing: Pricing
    acceptance: Acceptance
    networkTimestamp: NetworkTimestamp
    origin: Origin
    group: Group
    editedAt: EditedAt
    editId: EditId
    deletedAt: DeletedAt
    statusHistory: list[StatusChange]
    """The statuses in the order in which a message takes them, even if the messaging network reported them in another order."""


class MessageDetail(_MessageDetailAlways, total=False):
    """A message with its status history."""

    errors: MessageErrors
    reference: MessageReference
    broadcastId: MessageBroadcast
    truncated: Truncated


class MessagePage(TypedDict):
    """A page of messages."""

    data: list[Message]
    """The messages, newest first."""
    pagination: Pagination


EventKind = Literal[
    "message.received",
    "message.sent",
    "message.delivered",
    "message.read",
    "message.failed",
    "number.activated",
    "number.disconnected",
    "number.banned",
    "template.updated",
    "number.updated",
    "contact.updated",
    "message.edited",
    "message.deleted",
    "message.echoed",
    "call.updated",
    "broadcast.started",
    "broadcast.paused",
    "broadcast.completed",
]
"""The kind of an event."""


WebhookUrl = str
"""Absolute HTTPS address without credentials and fragment. Its host is a name, which may be internationalized, or a public IPv4 or IPv6 address. `http` and loopback addresses are accepted only with the sandbox, unless the operator changes this."""


EventKinds = list["EventKind"]
"""Event kinds."""


NumberIds = list["Identifier"]
"""Numbers of the account to which delivery is limited. An empty list or none means all numbers."""


WebhookDescription = str
"""What the webhook is for, in your words; empty for none. Every character except NUL is allowed."""


class WebhookHeader(TypedDict):
    """A header of the webhook's requests."""

    name: str
    """Letters, digits, `-` and `_`. Refused are names that the gateway sets itself: `Accept`, `Accept-Encoding`, `Content-*` of the body, `Host`, `User-Agent`, `webhook-*`, `X-Service-*` and those of the connection."""
    value: str
    """Printable ASCII characters, without a space at the beginning or end. It is stored encrypted and never shown."""


WebhookHeaders = list["WebhookHeader"]
"""Headers that are added to each request, for example for basic authentication. They replace all earlier ones; an empty list removes them. Of several with the same name the last one counts. If the webhook has any, a `url` with another scheme, host or port needs `headers` in the same request."""


WebhookMaxRate = int
"""The most events a second. Others wait, and none is lost. Retries are sent at their times and count. With 0 the gateway follows the pace of the receiver alone."""


class _WebhookBatchAlways(TypedDict):
    maxEvents: int
    """The most events in a request. 0 ends batches."""


class WebhookBatch(_WebhookBatchAlways, total=False):
    """Several events in one request, as an `EventBatch`, also if there is only one. Without it, or with `maxEvents` 0, each request has one event."""

    maxWaitMs: int
    """For how many milliseconds a new event waits for others, until there are `maxEvents`. By default 0: what is due goes together."""


class EventBatch(TypedDict):
    """The body of a request to a webhook with `batch`."""

    events: list[EventInBatch]
    """The events, oldest first. Remember each `id` to notice an event that comes again."""


class EventInBatch(TypedDict):
    """An event as it is sent alone."""

    id: EventId
    event: EventKind
    timestamp: Timestamp
    data: dict[str, Any]
    """The message, number, template or contact."""


class _CreateWebhookRequestAlways(TypedDict):
    url: WebhookUrl
    events: EventKinds


class CreateWebhookRequest(_CreateWebhookRequestAlways, total=False):
    """A webhook to create."""

    numberIds: NumberIds
    description: WebhookDescription
    headers: WebhookHeaders
    maxRate: WebhookMaxRate
    batch: WebhookBatch


class UpdateWebhookRequest(TypedDict, total=False):
    """The properties to change, at least one."""

    url: WebhookUrl
    events: EventKinds
    numberIds: NumberIds
    active: bool
    """Whether the webhook receives deliveries."""
    description: WebhookDescription
    headers: WebhookHeaders
    maxRate: WebhookMaxRate
    batch: WebhookBatch


class Webhook(TypedDict):
    """An endpoint that receives signed events."""

    id: Identifier
    url: str
    """Address that receives the events as POST requests. An internationalized host name is in its ASCII form."""
    secret: str
    """Signing secret: `whsec_` and the standard base64 of 32 bytes. In full only in the responses that create the webhook and rotate its secret; elsewhere `whsec_****` and the last 4 characters."""
    events: list[EventKind]
    """Subscribed event kinds."""
    numberIds: list[Identifier]
    """Numbers to which delivery is limited; empty when no filter was given."""
    active: bool
    """Whether the webhook receives deliveries."""
    description: WebhookDescription
    headerNames: list[str]
    """The names of its `headers`. Their values are secret."""
    maxRate: WebhookMaxRate
    batch: WebhookBatch
    createdAt: Timestamp


class WebhookPage(TypedDict):
    """A page of webhooks."""

    data: list[Webhook]
    """The webhooks, newest first."""
    pagination: Pagination


class TestWebhookRequest(TypedDict, total=False):
    """Which event to send."""

    event: EventKind


class WebhookTestResult(TypedDict):
    """The result of a test delivery."""

    success: bool
    """Whether the receiver responded with a 2xx status."""
    statusCode: int
    """HTTP status of the response; 0 without a response."""
    responseTimeMs: int
    """Duration of the request in milliseconds."""
    message: str
    """The result in words."""


DeliveryState = Literal["pending", "delivered", "failed", "skipped"]
"""The state of a delivery."""


class Delivery(TypedDict):
    """The delivery of one event to one webhook. `state` is deprecated: it is the earlier name of `status`, with the same value, until 2.0."""

    id: Identifier
    webhookId: Identifier
    eventId: Identifier
    event: EventKind
    status: DeliveryState
    state: DeliveryState
    attemptCount: int
    """Number of attempts."""
    nextAttemptAt: str | None
    """When the next attempt is due; null if none is."""
    createdAt: Timestamp
    completedAt: str | None
    """When the delivery reached its final state."""


class Attempt(TypedDict):
    """One request to the receiver, with its result."""

    id: Identifier
    number: int
    """Number of the attempt, 1 for the first."""
    startedAt: Timestamp
    durationMs: int
    """Duration of the request in milliseconds."""
    success: bool
    """Whether the receiver responded with a 2xx status."""
    statusCode: int | None
    """HTTP status of the response; null without one."""
    error: str | None
    """Why the attempt failed; null after a success."""
    responseBody: str | None
    """Response body as text, truncated to 1,024 bytes; null without a response."""


class DeliveryDetail(TypedDict):
    """A delivery with its event and its attempts. `state` is deprecated, as in `Delivery`."""

    id: Identifier
    webhookId: Identifier
    eventId: Identifier
    event: EventKind
    status: DeliveryState
    state: DeliveryState
    attemptCount: int
    """Number of attempts."""
    nextAttemptAt: str | None
    """When the next attempt is due; null if none is."""
    createdAt: Timestamp
    completedAt: str | None
    """When the delivery reached its final state."""
    payload: Event
    attempts: list[Attempt]
    """The last 100 attempts, oldest first."""


class DeliveryPage(TypedDict):
    """A page of deliveries."""

    data: list[Delivery]
    """The deliveries, newest first."""
    pagination: Pagination


EventId = str
"""The event. It is the same for each attempt and for each webhook that receives the event, in `webhook-id` (without `batch`) and in `GET /events`. Remember it to notice an event that comes again."""


EventCursor = str
"""A position in the account's events. Its form can change; take it from a response."""


class EventRecord(TypedDict):
    """An event of the account, as webhooks receive it, with its cursor."""

    id: EventId
    cursor: EventCursor
    event: EventKind
    timestamp: Timestamp
    data: dict[str, Any]
    """The `data` of the event, as webhooks receive it. It is a `Message` for `message.*`, a `ConnectedNumber` for `number.*`, a `Template` for `template.updated`. It is a `Contact` for `contact.updated`, a `Call` for `call.updated`, a `Broadcast` for `broadcast.*`. The `body` of a large message is left out: see `truncated` of `Message`."""


class EventPage(TypedDict):
    """The next events, and the cursor of the next page."""

    data: list[EventRecord]
    """The events, oldest first."""
    nextCursor: EventCursor


class UsageTotal(TypedDict):
    """The number of messages with the same day, number, direction, category and `billable`."""

    day: str
    """The day (UTC) on which the messages were created."""
    numberId: Identifier
    direction: Direction
    category: str | None
    """The `category` of their `pricing`, for example `utility`. Null for inbound messages, and where the network names none."""
    billable: bool
    """Whether the network charges for the messages. False for inbound messages, and where the network does not say."""
    count: int
    """How many messages."""


class UsagePage(TypedDict):
    """A page of counts, and their range of days."""

    since: str
    """The first day of the range."""
    until: str
    """The day before which the range ends."""
    data: list[UsageTotal]
    """The counts, oldest day first."""
    pagination: Pagination


class RedeliverRequest(TypedDict, total=False):
    """Selects the deliveries to send again."""

    since: str
    """Only deliveries created at this time or later."""
    until: str
    """Only deliveries created before this time."""
    states: list[DeliveryState]
    """The earlier name of `statuses`, which counts if both are given. It works until 2.0."""
    includeDelivered: bool
    """Also the deliveries that have arrived. Without it, none of them is sent again."""
    statuses: list[DeliveryState]
    """Only deliveries with one of these statuses. The default is `failed` and `skipped`. `pending` adds none, and `delivered` adds none without `includeDelivered`."""


class RedeliverResult(TypedDict):
    """The number of selected deliveries."""

    count: int
    """Number of deliveries that will be sent in the background."""


AuditAction = str
"""What was done: the kind of resource and a verb, for example `webhook.changed`, `key.created`, `contact.erased`. New ones can be added."""


AuditActorKind = Literal["key", "user", "operator", "signup_link", "network", "service"]
"""Who acts: an API key, a user of the dashboard, the operator of the gateway, the owner of a phone number through a signup link, the messaging network, or the gateway itself."""


class AuditActor(TypedDict):
    """Who made a change, and from where."""

    kind: AuditActorKind
    id: str | None
    """Identifier of the API key, user or signup link; null for the others."""
    name: str
    """The user's email or the key's name at that time."""
    address: str | None
    """The client's IP address; null where the change came from the gateway's own machines."""


class AuditEntry(TypedDict):
    """One change."""

    id: Identifier
    createdAt: Timestamp
    action: AuditAction
    subject: str | None
    """Identifier of what was changed. It may no longer exist."""
    actor: AuditActor
    before: dict[str, Any]
    """The changed values as they were; empty for what is new. Never a secret or a person's data."""
    after: dict[str, Any]
    """The changed values as they became; empty for what was removed."""


class AuditPage(TypedDict):
    """A page of changes."""

    data: list[AuditEntry]
    """The changes, newest first."""
    pagination: Pagination


class SignupLink(TypedDict):
    """An open signup link."""

    slug: str
    """Name of the link, the last part of its address."""
    accountName: str
    """Name of the account to which the number will be connected."""
    createdAt: Timestamp
    expiresAt: Timestamp
    appId: str
    """The platform's app id for the embedded signup."""
    configId: str
    """The platform's configuration id for the embedded signup."""


class _CompleteSignupRequestAlways(TypedDict):
    code: str
    """The code of the embedded signup."""
    phone_number_id: str
    """The platform's identifier of the phone number. Empty if the signup names only the business account, as for a number of the WhatsApp Business app. The account must then have exactly one number."""
    waba_id: str
    """The platform's identifier of the business account."""


class CompleteSignupRequest(_CompleteSignupRequestAlways, total=False):
    """The result of the embedded signup."""

    pin: str
    """The number's two-step verification PIN. Send it after a 409 that asks for it."""


class ErrorResponse(TypedDict):
    """The body of every error response."""

    error: ErrorBody


class _ErrorBodyAlways(TypedDict):
    code: ErrorCode
    message: str
    """What is wrong, where, and what to do about it."""
    status: int
    """The HTTP status."""


class ErrorBody(_ErrorBodyAlways, total=False):
    """What went wrong."""

    details: ErrorDetails


ErrorCode = Literal[
    "VALIDATION_ERROR",
    "UNAUTHORIZED",
    "FORBIDDEN",
    "NOT_FOUND",
    "METHOD_NOT_ALLOWED",
    "REQUEST_TIMEOUT",
    "CONFLICT",
    "PAYLOAD_TOO_LARGE",
    "UNSUPPORTED_MEDIA_TYPE",
    "RATE_LIMITED",
    "HEADERS_TOO_LARGE",
    "INTERNAL_ERROR",
    "SERVICE_UNAVAILABLE",
]
"""A stable code; each HTTP status has one."""


class ErrorDetails(TypedDict, total=False):
    """Data for programs. Only known properties are present."""

    networkCode: int
    """The messaging network's error code."""
    field: str
    """The invalid property of the request body, or the invalid query parameter, as a JSON pointer (RFC 6901)."""
    messageId: Identifier
    scope: str
    """The scope that the API key lacks."""
    since: str
    """The time from which the events of the account have to be read again."""
    help: str
    """A page of this gateway that explains the code, and what to do. Each error of this version has it."""
    networkTitle: NetworkTitle
    networkMessage: NetworkMessage
    networkDetails: NetworkDetails
    networkTraceId: NetworkTraceId
    networkRestriction: NetworkRestriction
    networkRestrictedUntil: Timestamp


Event = Union[
    "MessageReceivedEvent",
    "MessageSentEvent",
    "MessageDeliveredEvent",
    "MessageReadEvent",
    "MessageFailedEvent",
    "NumberActivatedEvent",
    "NumberDisconnectedEvent",
    "NumberBannedEvent",
    "TemplateUpdatedEvent",
    "NumberUpdatedEvent",
    "ContactUpdatedEvent",
    "MessageEditedEvent",
    "MessageDeletedEvent",
    "MessageEchoedEvent",
    "CallUpdatedEvent",
    "BroadcastStartedEvent",
    "BroadcastPausedEvent",
    "BroadcastCompletedEvent",
]
"""An event, as it is sent to a webhook. `event` selects its schema."""


class MessageReceivedEvent(TypedDict):
    """An inbound message arrived."""

    id: EventId
    event: Literal["message.received"]
    """The event kind."""
    timestamp: Timestamp
    data: Message


class MessageSentEvent(TypedDict):
    """A message was accepted by the network."""

    id: EventId
    event: Literal["message.sent"]
    """The event kind."""
    timestamp: Timestamp
    data: Message


class MessageDeliveredEvent(TypedDict):
    """A message was delivered to the recipient's device."""

    id: EventId
    event: Literal["message.delivered"]
    """The event kind."""
    timestamp: Timestamp
    data: Message


class MessageReadEvent(TypedDict):
    """A message was read by the recipient."""

    id: EventId
    event: Literal["message.read"]
    """The event kind."""
    timestamp: Timestamp
    data: Message


class MessageFailedEvent(TypedDict):
    """A message could not be delivered."""

    id: EventId
    event: Literal["message.failed"]
    """The event kind."""
    timestamp: Timestamp
    data: Message


class NumberActivatedEvent(TypedDict):
    """A number is ready."""

    id: EventId
    event: Literal["number.activated"]
    """The event kind."""
    timestamp: Timestamp
    data: ConnectedNumber


class NumberDisconnectedEvent(TypedDict):
    """A number was disconnected."""

    id: EventId
    event: Literal["number.disconnected"]
    """The event kind."""
    timestamp: Timestamp
    data: ConnectedNumber


class NumberBannedEvent(TypedDict):
    """A number was banned by the messaging platform."""

    id: EventId
    event: Literal["number.banned"]
    """The event kind."""
    timestamp: Timestamp
    data: ConnectedNumber


class ContactUpdatedEvent(TypedDict):
    """A person opted out of marketing or in again, or their phone number or user id changed."""

    id: EventId
    event: Literal["contact.updated"]
    """The event kind."""
    timestamp: Timestamp
    data: Contact


class MessageEditedEvent(TypedDict):
    """A person edited a message."""

    id: EventId
    event: Literal["message.edited"]
    """The event kind."""
    timestamp: Timestamp
    data: Message


class MessageDeletedEvent(TypedDict):
    """A person deleted a message."""

    id: EventId
    event: Literal["message.deleted"]
    """The event kind."""
    timestamp: Timestamp
    data: Message


class MessageEchoedEvent(TypedDict):
    """The owner of a number wrote to a person in the WhatsApp Business app."""

    id: EventId
    event: Literal["message.echoed"]
    """The event kind."""
    timestamp: Timestamp
    data: Message


class CallUpdatedEvent(TypedDict):
    """A call with a person began, rang or ended."""

    id: EventId
    event: Literal["call.updated"]
    """The event kind."""
    timestamp: Timestamp
    data: Call


class BroadcastStartedEvent(TypedDict):
    """A broadcast started."""

    id: EventId
    event: Literal["broadcast.started"]
    """The event kind."""
    timestamp: Timestamp
    data: Broadcast


class BroadcastPausedEvent(TypedDict):
    """A broadcast paused, with the reason."""

    id: EventId
    event: Literal["broadcast.paused"]
    """The event kind."""
    timestamp: Timestamp
    data: Broadcast


class BroadcastCompletedEvent(TypedDict):
    """A broadcast ended, with its counts."""

    id: EventId
    event: Literal["broadcast.completed"]
    """The event kind."""
    timestamp: Timestamp
    data: Broadcast


class Call(TypedDict):
    """A change of a call between a number and a person. The gateway makes and answers no calls."""

    id: str
    """Identifier of this change; all changes of a call have the same `callId`."""
    callId: str
    """Identifier of the call at the network."""
    numberId: Identifier
    direction: Direction
    fromNumber: str
    """Who calls, by phone number, or by user id if no phone number is known."""
    toNumber: str
    """Who is called, likewise."""
    event: str
    """What happened, in the network's words, such as `connect`, `ringing` or `terminate`."""
    status: str | None
    """The network's result, such as `COMPLETED` or `FAILED`; null if it names none."""
    networkTimestamp: NetworkTimestamp
    contact: MessageContact
    details: dict[str, Any]
    """All that the network sent about the change, such as `session`, `duration` and `errors`."""


class NumberUpdatedEvent(TypedDict):
    """The quality, the messaging limit or the display name of a number changed, or the platform gave a notice about it."""

    id: EventId
    event: Literal["number.updated"]
    """The event kind."""
    timestamp: Timestamp
    data: ConnectedNumber


class TemplateUpdatedEvent(TypedDict):
    """A template changed."""

    id: EventId
    event: Literal["template.updated"]
    """The event kind."""
    timestamp: Timestamp
    data: Template
