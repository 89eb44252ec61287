"""Phone numbers and user ids of people, as files have them.

A phone number is stored as digits with its country code. Only recipients are checked against the numbering
plans of countries: a suppression may name a number that nobody can have.
"""

import re
from functools import lru_cache

import phonenumbers
from phonenumbers import (
    NumberParseException,
    PhoneNumber,
    PhoneNumberFormat,
    PhoneNumberType,
    ValidationResult,
)

from models.errors import InvalidError
from services.business import PERSON

# Separators that people type in phone numbers, in all their forms, and marks of the writing direction, which
# address books add when a number is copied.
_SEPARATORS = re.compile(
    r"[\s+().\-/\u00ad\u200b-\u200f\u2010-\u2015\u202a-\u202e\u2060-\u2069\u2212\ufeff]"
)
# What a spreadsheet or a program adds to a phone number that it takes for an amount.
_FRACTION = re.compile(r"^([^.]*)[.]0+\s*$")
# What a spreadsheet makes of a long number in a column that is not text.
_SCIENTIFIC = re.compile(r"[0-9]([.,][0-9]+)?E\+?[0-9]+", re.IGNORECASE)
# How spreadsheets mark a number as text: '491711234567 and ="491711234567".
_MARKED_AS_TEXT = re.compile(r"""'(.*)|="(.*)\"""", re.DOTALL)
# The national zero in brackets, after a country code: +49 (0)171 ...
_ZERO_IN_BRACKETS = re.compile(r"\(\s*0\s*\)")
# Mobile numbers of Mexico had this 1 until 2019. Messaging networks keep it in the identifiers of people.
_WITH_MEXICAN_1 = re.compile(r"521([0-9]{10})")
# With a prefix, a number has fewer. Python converts no number of thousands of digits.
_MOST_DIGITS = 30
# Where the numbering plan tells mobile phones and landlines apart, only the former get messages.
_MOBILE = (PhoneNumberType.MOBILE, PhoneNumberType.FIXED_LINE_OR_MOBILE)
_COUNTRY_CODES = frozenset(map(str, phonenumbers.COUNTRY_CODE_TO_REGION_CODE))


class NotARecipientError(ValueError):
    """A text is no recipient. ``corrected`` is what was certainly meant, otherwise None."""

    def __init__(self, message: str, corrected: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.corrected = corrected


def person_of(text: str) -> str | None:
    """The phone number or user id in a text, without separators. None if it is neither."""
    if PERSON.fullmatch(text):
        return text
    digits = _digits_of(text)
    if digits and PERSON.fullmatch(digits) and not _FRACTION.search(text):
        return digits
    return text.strip() if PERSON.fullmatch(text.strip()) else None


def check_country(country: str) -> None:
    """Raises InvalidError if it is no code of ISO 3166 of a country with phone numbers."""
    if country not in phonenumbers.SUPPORTED_REGIONS:
        raise InvalidError(
            "Query parameter country: no country has this code. Use one of ISO 3166, such as DE.",
            field="/country",
        )


def recipient_of(text: str, country: str | None = None) -> str:
    """The phone number or user id to send to. ``country`` is that of numbers without a country code.

    Raises NotARecipientError.
    """
    text = _unmarked(text.strip())
    if not text:
        raise NotARecipientError("The recipient is missing.")
    if PERSON.fullmatch(text) and not text.isdecimal():
        return text
    if _SCIENTIFIC.fullmatch(text):
        raise NotARecipientError(
            "A spreadsheet rounded this number. Format the column as text, and enter the numbers again."
        )
    if amount := _FRACTION.fullmatch(text):
        raise NotARecipientError(
            "A phone number has no decimal places.", _possible_form(_digits_of(amount[1]) or "")
        )
    digits = _digits_of(text)
    if digits is None:
        raise NotARecipientError(
            "This is neither a phone number with its country code nor a user id."
        )
    if digits.startswith("0"):
        raise _begins_with_zero(digits, country)
    if country is not None and "+" not in text:
        _refuse_national(digits, country)
    return _international(digits, text)


def identity_of(recipient: str) -> str:
    """What is the same for all forms of a recipient."""
    if recipient.startswith("521"):
        return _WITH_MEXICAN_1.sub(r"52\1", recipient)
    return recipient


def _unmarked(text: str) -> str:
    """Without the signs of a spreadsheet for text."""
    if text.startswith(("'", "=")) and (marked := _MARKED_AS_TEXT.fullmatch(text)):
        return (marked[1] or marked[2] or "").strip()
    return text


def _digits_of(text: str) -> str | None:
    """The digits of a phone number, without separators. None if it has other characters, or too many."""
    digits = _SEPARATORS.sub("", text)
    if not digits.isdecimal() or len(digits) > _MOST_DIGITS:
        return None
    return digits if digits.isascii() else phonenumbers.normalize_digits_only(digits)


def _begins_with_zero(digits: str, country: str | None) -> NotARecipientError:
    if digits.startswith("00"):
        return NotARecipientError(
            "A phone number begins with its country code, without 00.", _possible_form(digits[2:])
        )
    if country is None:
        return NotARecipientError(
            "A phone number begins with its country code. If all numbers without one are of the same country,"
            " set country."
        )
    return NotARecipientError(
        "A phone number begins with its country code.", _national_form(digits, country)
    )


def _national_form(digits: str, country: str) -> str | None:
    """The international form of a number as it is dialled in a country, None if there is none."""
    number = _parsed(digits, country)
    if number is None or not _has_possible_length(number):
        return None
    # Where the zero is a part of the number, a number without its country code may also be a mistake.
    if number.italian_leading_zero and not phonenumbers.is_valid_number(number):
        return None
    return _as_digits(number)


def _refuse_national(digits: str, country: str) -> None:
    """Raises NotARecipientError for a number of the country without its country code."""
    code = str(phonenumbers.country_code_for_region(country))
    is_possible = _possible_form(digits) == digits
    if is_possible and digits.startswith(code):
        return
    number = _parsed(digits, country)
    kind = PhoneNumberType.UNKNOWN if number is None else phonenumbers.number_type(number)
    # In some countries, most foreign numbers could be numbers of a landline too.
    if number is None or kind == PhoneNumberType.UNKNOWN or (is_possible and kind not in _MOBILE):
        return
    abroad = _parsed(f"+{digits}") if is_possible else None
    if abroad is not None and phonenumbers.is_valid_number(abroad):
        raise NotARecipientError(
            f"This may be a number with the country code {abroad.country_code}, or one without any."
            " Write it with its country code and a + before it."
        )
    raise NotARecipientError("A phone number begins with its country code.", _as_digits(number))


def _international(digits: str, text: str) -> str:
    """A number with its country code. ``text`` is what the file has. Raises NotARecipientError."""
    if _WITH_MEXICAN_1.fullmatch(digits):
        return digits
    form = _possible_form(digits)
    if form == digits:
        return digits
    if form is None and _ZERO_IN_BRACKETS.search(text):
        form = _possible_form(_digits_of(_ZERO_IN_BRACKETS.sub("", text)) or "")
    if form is not None:
        raise NotARecipientError(
            "A phone number has no national prefix, such as 0, after its country code.", form
        )
    code = _code_of(digits)
    raise NotARecipientError(
        "A phone number begins with its country code, and no country has this one."
        if code is None
        else f"Phone numbers with the country code {code} do not have the length {len(digits)}."
    )


def _possible_form(digits: str) -> str | None:
    """The number without a national prefix after its country code. None if nobody can have such a number."""
    code = _code_of(digits)
    if code is None:
        return None
    national = digits[len(code) :]
    if _is_possible_length(int(code), len(national)) and not national.startswith("0"):
        return digits if PERSON.fullmatch(digits) else None
    number = _parsed(f"+{digits}")
    if number is None or not _has_possible_length(number):
        return None
    return _as_digits(number)


def _code_of(digits: str) -> str | None:
    """The country code. No country code begins with another one."""
    for length in (1, 2, 3):
        if digits[:length] in _COUNTRY_CODES:
            return digits[:length]
    return None


@lru_cache(maxsize=4_096)
def _is_possible_length(code: int, length: int) -> bool:
    """Whether numbers of the country code may have so many digits after it.

    A lookup takes a quarter of a microsecond, and parsing a number twenty.
    """
    return length > 0 and _has_possible_length(
        PhoneNumber(country_code=code, national_number=10 ** (length - 1))
    )


def _has_possible_length(number: PhoneNumber) -> bool:
    # Not is_possible_number(), which accepts numbers without their area code.
    reason = phonenumbers.is_possible_number_with_reason(number)
    return bool(reason == ValidationResult.IS_POSSIBLE)


def _parsed(text: str, country: str | None = None) -> PhoneNumber | None:
    try:
        return phonenumbers.parse(text, country)
    except NumberParseException:
        return None


def _as_digits(number: PhoneNumber) -> str | None:
    """The number with its country code. None if it is too short or long to get messages."""
    form = phonenumbers.format_number(number, PhoneNumberFormat.E164).removeprefix("+")
    return form if PERSON.fullmatch(form) else None
