"""What is wrong with a text that does not match its pattern of the contract.

Texts with the same pattern fail for the same reason, so the sentences are kept by pattern, not by property.
"""

from typing import Any

TEXT = "The text is empty, or contains the character NUL."
# The sentence of a schema whose pattern is too long to repeat here.
EXTENSION = "x-pattern-error"
SENTENCES = {
    r"^[^\x00]+$": TEXT,
    r"^[^\x00]*$": "The text contains the character NUL.",
    r"^[^\x00-\x1F\x7F]+$": "The text is empty, or contains a control character of ASCII.",
    "^[!-~]+$": "Only printable ASCII characters without spaces are allowed.",
    "^[!-~]([ -~]*[!-~])?$": "Only printable ASCII characters are allowed, without a space at either end.",
    "^[A-Za-z0-9_-]{1,64}$": "An identifier has 1 to 64 letters of ASCII, digits, hyphens and underscores.",
    "^[A-Za-z0-9_-]+$": "Only letters of ASCII, digits, hyphens and underscores are allowed.",
    "^[A-Za-z0-9_.-]+$": "Only letters of ASCII, digits, dots, hyphens and underscores are allowed.",
    "^[A-Za-z0-9][A-Za-z0-9-]{0,62}$": (
        "Only 1 to 63 letters of ASCII, digits and hyphens are allowed, and no hyphen at the start."
    ),
    "^[a-z0-9_]{1,512}$": "Only 1 to 512 lowercase letters of ASCII, digits and underscores are allowed.",
    "^[a-z][a-z0-9_]*$": (
        "Only lowercase letters of ASCII, digits and underscores are allowed, and a letter at the start."
    ),
    "^[a-z]{2,3}(_[A-Za-z0-9]{2,4})?$": "A language code is like en, or like en_US with a country.",
    "^[A-Z]{3}$": "A currency code has three uppercase letters, like EUR.",
    "^[A-Z_]{1,40}$": "Only 1 to 40 uppercase letters of ASCII and underscores are allowed.",
    "^(IN|SG)$": "Only the country codes IN and SG are allowed.",
    "^[1-9][0-9]{6,14}$": "A phone number has 7 to 15 digits, and no 0 and no + at the start.",
    "^[+0-9 ()-]+$": "A phone number has only digits, spaces, hyphens, parentheses and the sign +.",
    "^([1-9][0-9]{6,14}|[A-Z]{2}[.](ENT[.])?[A-Za-z0-9]{1,128})$": (
        "A phone number has 7 to 15 digits, and no 0 and no + at the start. A user id is like US.1234."
    ),
    "^[A-Z]{2}[.](ENT[.])?[A-Za-z0-9]{1,128}$": "A user id is like US.1234.",
    "^[A-Za-z0-9_]{1,64}([.][A-Za-z0-9]{1,128}){0,2}$": (
        "A person is named by an identifier, the digits of a phone number, or a user id like US.1234."
    ),
    "^[0-7]?[0-9a-f]{1,15}-(evt_[0-9A-HJKMNP-TV-Z]{26})?$": (
        "A position in the events has another form. Take it from a response."
    ),
    "^[a-z_]{1,32}[.][a-z_]{1,32}$": "An action is a kind of resource, a dot and a verb, like key.created.",
    "^[0-9]+$": "Only digits are allowed.",
    "^[0-9]$": "Only one digit is allowed.",
    "^[0-9.]+$": "Only digits and dots are allowed.",
    "^[0-9]{6}$": "Exactly 6 digits are required.",
    "^[0-9]{1,32}$": "Only 1 to 32 digits are allowed.",
    "^[0-9]{0,32}$": "At most 32 digits are allowed, and nothing else.",
    "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])$": "A date is written YYYY-MM-DD, like 2025-12-31.",
}


def sentence_of(schema: dict[str, Any]) -> str:
    """Why a text does not match the pattern of its schema."""
    # A test finds a pattern without a sentence. The pattern itself is better than nothing.
    found = schema.get(EXTENSION) or SENTENCES.get(schema["pattern"], schema["pattern"])
    return str(found)
