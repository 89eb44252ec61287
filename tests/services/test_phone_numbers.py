"""Phone numbers as files have them: accepted as digits, or refused with what was certainly meant."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InvalidError
from services.business import PERSON
from services.phone_numbers import (
    NotARecipientError,
    check_country,
    identity_of,
    person_of,
    recipient_of,
)


@pytest.mark.parametrize(
    "text",
    [
        "491711234567",
        " +49 171 1234567\t",
        "+49 (171) 123-45.67",
        "+49\u00a0171/123\u202f4567",
        "\u202a+49 171\u20111234567\u202c",
        "49 171 \u2013 1234567\ufeff",
        "'491711234567",
        '="491711234567"',
        "\u0664\u0669\u0661\u0667\u0661\u0661\u0662\u0663\u0664\u0665\u0666\u0667",
    ],
)
def test_a_number_is_the_same_however_people_write_it(text: str) -> None:
    assert recipient_of(text) == "491711234567"


@pytest.mark.parametrize(
    "text", ["US.1001", "DE.ENT.a1B2", "390612345678", "2250701234567", "15550100001"]
)
def test_user_ids_and_numbers_of_any_country_stay(text: str) -> None:
    assert recipient_of(text) == text


@pytest.mark.parametrize(
    ("text", "country", "corrected"),
    [
        ("0049 171 1234567", None, "491711234567"),
        ("+0049 171 1234567", None, "491711234567"),
        ("0171 234567", "DE", "49171234567"),
        ("(0171) 234567", "DE", "49171234567"),
        ("06 12345678", "IT", "390612345678"),
        ("011 49 171 1234567", "US", "491711234567"),
        ("+49 (0)171 1234567", None, "491711234567"),
        ("49 (0) 171 1234567", None, "491711234567"),
        ("0049 (0)171 1234567", None, "491711234567"),
        # Without a national prefix of its own, the library does not know this zero.
        ("+351 (0)211 234 567", None, "351211234567"),
        ("+49 0171 1234567", None, "491711234567"),
        ("+7 8 916 123 45 67", None, "79161234567"),
        ("491711234567.0", None, "491711234567"),
        # Numbers without a country code that could begin with another one.
        ("612345678", "ES", "34612345678"),
        ("(612) 555-1234", "US", "16125551234"),
        ("7012345678", "KZ", "77012345678"),
        ("89161234567", "RU", "79161234567"),
        # The spreadsheet removed the zero.
        ("1711234567", "DE", "491711234567"),
    ],
)
def test_a_number_is_corrected_where_that_is_certain(
    text: str, country: str | None, corrected: str
) -> None:
    with pytest.raises(NotARecipientError) as refused:
        recipient_of(text, country)
    assert refused.value.corrected == corrected
    assert recipient_of(corrected, country) == corrected


@pytest.mark.parametrize(
    ("text", "country"),
    [
        ("", None),
        (" ' ", None),
        ("Anna", None),
        ("+", None),
        ("+1 555 123 4567 ext. 5", None),
        ("4.91711E+12", None),
        ("4,91711e12", None),
        ("4E12", None),
        # Without a country, and in one where the zero is no prefix.
        ("0171 234567", None),
        ("0171 234567", "US"),
        ("0171", "DE"),
        ("00999 171 1234567", None),
        ("999123456789", None),
        ("4917", None),
        # One and two digits are missing.
        ("1555123456", None),
        ("155512345", None),
        # A country code alone, and one that the country's own numbers cannot have.
        ("49", None),
        ("+878", None),
        ("1711234567890123456", "DE"),
        ("49" + "1" * 5_000, None),
        ("1" * 5_000 + ".0", None),
        ("1", "DE"),
        ("49171123456789012", None),
        # A number without its area code.
        ("15551234", None),
        ("999171.0", None),
        # Texas, or a German mobile phone without its zero.
        ("15124567890", "DE"),
    ],
)
def test_a_number_is_refused_without_a_guess(text: str, country: str | None) -> None:
    with pytest.raises(NotARecipientError) as refused:
        recipient_of(text, country)
    assert refused.value.corrected is None
    # Errors of requests are logged, and the cell is about a person.
    assert len(text) < 7 or text not in refused.value.message


@pytest.mark.parametrize(
    ("text", "country"),
    [
        ("+15124567890", "DE"),
        ("491711234567", "DE"),
        # This could be a German landline as well.
        ("447711234567", "DE"),
        ("447700900123", "US"),
    ],
)
def test_a_number_with_its_country_code_is_kept_beside_those_of_a_country(
    text: str, country: str
) -> None:
    assert recipient_of(text, country) == text.removeprefix("+")


@given(
    st.text("0123456789+(). -E'=\u00a0\u0664", max_size=25) | st.text(),
    st.sampled_from([None, "DE", "US", "IT", "RU", "MX"]),
)
def test_any_text_is_a_recipient_or_refused(text: str, country: str | None) -> None:
    try:
        found = recipient_of(text, country)
    except NotARecipientError as refused:
        corrected = refused.corrected
        assert corrected is None or recipient_of(f"+{corrected}", country) == corrected
    else:
        assert PERSON.fullmatch(found)


def test_the_errors_of_cells_that_people_leave_or_spreadsheets_change_differ() -> None:
    messages = set[str]()
    for text in ("", "Anna", "4.9E+11", "491711234567.0", "999123456789"):
        with pytest.raises(NotARecipientError) as refused:
            recipient_of(text)
        messages.add(refused.value.message)
    assert len(messages) == 5


def test_a_mexican_number_is_accepted_with_and_without_its_old_1() -> None:
    forms = [recipient_of("+52 1 55 1234 5678"), recipient_of("525512345678")]
    assert forms == ["5215512345678", "525512345678"]
    assert len({identity_of(form) for form in forms}) == 1
    assert identity_of("491711234567") == "491711234567"


def test_a_number_of_an_unknown_country_is_told_from_one_of_a_wrong_length() -> None:
    messages = set[str]()
    for text in ("999123456789", "49171123456789012"):
        with pytest.raises(NotARecipientError) as refused:
            recipient_of(text)
        messages.add(refused.value.message)
    assert [("49" in each, "17" in each) for each in sorted(messages)] == [
        (False, False),
        (True, True),
    ]


@pytest.mark.parametrize("country", ["de", "XX", "DEU", ""])
def test_a_country_has_a_code_of_iso_3166(country: str) -> None:
    with pytest.raises(InvalidError) as refused:
        check_country(country)
    assert refused.value.details == {"field": "/country"}
    check_country("DE")


def test_a_person_may_have_a_number_that_no_country_gives_out() -> None:
    assert person_of("+999 123-4567") == "9991234567"
    assert person_of(" US.1001 ") == "US.1001"
    assert [person_of(text) for text in ("15551234567.0", "0171 234567", "Anna", "")] == [None] * 4
