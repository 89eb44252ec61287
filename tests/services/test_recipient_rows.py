"""The recipients of a file: each is checked and counted once, and wrong rows are listed."""

import time
import tracemalloc
from io import BytesIO
from tempfile import TemporaryFile
from typing import Any

import pytest

from models.errors import InvalidError
from services import recipient_rows
from services.recipient_rows import Column, Recipient, Summary, recipients_of

PHONE, OTHER, ID = "491711234567", "491711234568", "US.1001"


def read(content: str, **given: Any) -> tuple[list[Recipient], Summary]:
    with recipients_of(BytesIO(content.encode()), **given) as rows:
        return list(rows), rows.summary


def counts(summary: Summary) -> tuple[int, int, int, int]:
    return summary.rows, summary.recipients, summary.duplicates, summary.wrong


def test_columns_become_the_recipient_its_reference_and_parameters() -> None:
    recipients, summary = read(
        f"Name;Phone;Reference;City\r\n Anna ;+49 171 1234567;order-1;\r\n;{ID};;Köln\r\n"
    )
    assert recipients == [
        (2, PHONE, "order-1", {"Name": "Anna"}),
        (3, ID, None, {"City": "Köln"}),
    ]
    assert counts(summary) == (2, 2, 0, 0)
    assert (summary.to_column, summary.reference_column) == ("Phone", "Reference")
    assert summary.columns == {"Name": Column(1, 3), "City": Column(1, 2)}


@pytest.mark.parametrize(
    ("names", "found"),
    [
        ("name,to", "to"),
        ("PHONE NUMBER,name", "PHONE NUMBER"),
        ("name,Phone-Number", "Phone-Number"),
        ("name,wa_id", "wa_id"),
        ("name,Tel.", "Tel."),
        ("number,name,phone", "phone"),
        ("phone,Handy", "Handy"),
        ("Telefon,name,telefon", "Telefon"),
        ("Number,name", "Number"),
    ],
)
def test_the_column_of_recipients_is_found_by_its_usual_names(names: str, found: str) -> None:
    _, summary = read(f"{names}\n")
    assert summary.to_column == found
    assert list(summary.columns) == [name for name in names.split(",") if name != found]


def test_the_column_of_recipients_can_be_stated() -> None:
    content = f"to,Customer No,customer_no\nx,{PHONE},{OTHER}\n"
    assert read(content, to_column="customer_no")[0] == [
        (2, OTHER, None, {"to": "x", "Customer No": PHONE})
    ]
    assert read(content, to_column="CUSTOMER NO")[0][0].to == PHONE
    assert read(f'{{"person": 1, "x": "{PHONE}"}}', to_column="x")[0] == [
        (1, PHONE, None, {"person": "1"})
    ]


@pytest.mark.parametrize(
    ("given", "pointer"), [({}, "/file"), ({"to_column": "phone"}, "/toColumn")]
)
def test_a_file_without_a_column_of_recipients_is_refused(given: Any, pointer: str) -> None:
    with pytest.raises(InvalidError) as refused:
        read("Customer,City\n1,Köln\n", **given)
    assert refused.value.details == {"field": pointer}
    assert '"Customer", "City"' in refused.value.message


def test_a_country_that_does_not_exist_is_refused() -> None:
    with pytest.raises(InvalidError) as refused:
        read("to\n", country="XX")
    assert refused.value.details == {"field": "/country"}


def test_a_person_gets_one_message_whatever_the_number_looks_like() -> None:
    recipients, summary = read(
        f"to,name\n{PHONE},Anna\n+49 (171) 1234567,Bert\n{ID},Carl\n{PHONE},Dora\n{ID},Emil\n"
        "525512345678,F\n5215512345678,G\n"
    )
    assert [(each.line, each.to) for each in recipients] == [
        (2, PHONE),
        (4, ID),
        (7, "525512345678"),
    ]
    assert counts(summary) == (7, 3, 4, 0)


def test_wrong_rows_are_listed_with_what_they_certainly_mean() -> None:
    recipients, summary = read(
        "name,to\n"
        f'"An\nna",{PHONE}\n'
        "Bert,0171 1234568\n"
        "Carl\n"
        f"{'x' * 1_025},{OTHER}\n"
        "Dora,4.91711E+12\n"
        f"Emil,{OTHER}\n",
        country="DE",
    )
    assert [each.line for each in recipients] == [2, 8]
    assert counts(summary) == (6, 2, 0, 4)
    assert [(each.line, each.column, each.corrected) for each in summary.errors] == [
        (4, "to", OTHER),
        (5, None, None),
        (6, "name", None),
        (7, "to", None),
    ]


def test_the_first_hundred_errors_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipient_rows, "MOST_SHOWN", 2)
    _, summary = read("to\n" + "1\n" * 3)
    assert ([each.line for each in summary.errors], summary.wrong) == ([2, 3], 3)


def test_a_reference_is_a_line_of_128_characters() -> None:
    recipients, summary = read(
        f'to,reference\n{PHONE},"a\nb"\n{OTHER},{"x" * 128}\n{ID},{"x" * 129}\n'
    )
    assert [each.reference for each in recipients] == ["a b", "x" * 128]
    assert [(each.line, each.column) for each in summary.errors] == [(5, "reference")]


def test_a_column_of_references_may_have_the_recipients() -> None:
    for content in (f"reference\n{PHONE}\n", f'{{"reference": "{PHONE}"}}\n'):
        recipients, summary = read(content, to_column="reference")
        assert [each.to for each in recipients] == [PHONE]
        assert summary.reference_column is None


def test_parameters_are_texts_of_1024_characters_without_control_characters() -> None:
    long = "x" * 1_024
    recipients, _ = read(f'to,name,long\n{PHONE},"\x07A\tb\r\nc\x85\u00a0",{long}\n')
    assert recipients[0].parameters == {"name": "A b\nc", "long": long}
    recipients, _ = read(f'{{"to": "{PHONE}", "name": "a\\u0000b\\ud800c"}}')
    assert recipients[0].parameters == {"name": "a b c"}


def test_an_object_has_parameters_beside_and_inside_parameters() -> None:
    recipients, summary = read(
        f'{{"to": "{PHONE}", "reference": "r", "a": "1", "parameters": {{"b": "2", "to": "Köln"}}}}\n'
        f'{{"to": "{OTHER}", "a": "1", "parameters": {{"a": "2"}}}}\n'
        f'{{"to": "{OTHER}", "parameters": {{"a": "2", "reference": "x"}}}}\n'
        f'{{"reference": "r"}}\n'
    )
    assert recipients == [
        (1, PHONE, "r", {"a": "1", "b": "2", "to": "Köln"}),
        (3, OTHER, None, {"a": "2", "reference": "x"}),
    ]
    assert [(each.line, each.column) for each in summary.errors] == [(2, "a"), (4, "to")]


def test_an_empty_cell_is_counted_also_before_its_column_occurs() -> None:
    lines = [
        '{"to": "1"}',
        f'{{"to": "{PHONE}", "a": "x", "b": " "}}',
        f'{{"to": "{PHONE}"}}',
        f'{{"to": "{OTHER}", "b": "x"}}',
        f'{{"to": "{ID}", "a": "x", "b": "x"}}',
    ]
    _, summary = read("\n".join(lines))
    # The first line is wrong, and the third is a duplicate.
    assert summary.columns == {"a": Column(1, 4), "b": Column(1, 2)}
    assert read(f'{{"to": "{PHONE}", "a": "x"}}')[1].columns == {"a": Column(0, None)}


def test_objects_have_a_hundred_parameters_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipient_rows, "MOST_COLUMNS", 2)
    recipients, summary = read(
        f'{{"to": "{PHONE}", "a": "x", "b": "x"}}\n{{"to": "{OTHER}", "c": "x"}}\n{{"to": "{ID}", "a": "x"}}'
    )
    assert [each.line for each in recipients] == [1, 3]
    assert ([each.line for each in summary.errors], list(summary.columns)) == ([2], ["a", "b"])


def test_a_file_has_a_million_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipient_rows, "MOST_ROWS", 2)
    assert counts(read(f"to\n{PHONE}\n\n1\n")[1]) == (2, 1, 0, 1)
    with pytest.raises(InvalidError) as refused:
        read(f"to\n{PHONE}\n1\n1\n")
    assert refused.value.details == {"field": "/file"}


def test_memory_does_not_grow_with_a_file() -> None:
    def peak(rows: int) -> int:
        with TemporaryFile() as file:
            file.write(b"to,name\n" + b"%s,%s\n" % (PHONE.encode(), b"x" * 500) * rows)
            tracemalloc.reset_peak()
            with recipients_of(file) as recipients:
                assert sum(1 for _ in recipients) == 1
            return tracemalloc.get_traced_memory()[1]

    tracemalloc.start()
    try:
        peak(1)
        small, large = peak(1_000), peak(20_000)
    finally:
        tracemalloc.stop()
    # The files have 0.5 and 10 MB.
    assert large - small < 1_000_000


def test_reading_pauses_for_other_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipient_rows, "BATCH", 10)
    pauses = list[float]()
    monkeypatch.setattr(time, "sleep", pauses.append)
    read("to\n" + "1\n" * 35)
    assert pauses == [recipient_rows.PAUSE_SECONDS] * 3
