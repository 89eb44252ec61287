"""Files as people have them: their kind, encoding and delimiter are found, and other files are refused."""

import json
from collections.abc import Mapping
from contextlib import suppress
from io import BytesIO
from pathlib import Path
from tempfile import SpooledTemporaryFile
from zipfile import ZipFile

import pytest
from hypothesis import given
from hypothesis import strategies as st

from models.errors import InvalidError, TooLargeError
from services import recipient_cells, text_files
from services.recipient_cells import Kind, cells_of
from services.text_files import Encoding

ANNA, JOERG = {"to": "491", "name": "Anna"}, {"to": "492", "name": "Jörg €"}


def read(content: bytes) -> tuple[tuple[Kind, Encoding, str | None], dict[int, Mapping[str, str]]]:
    """What a file is, and its cells by their lines."""
    with cells_of(BytesIO(content)) as cells:
        form = (cells.kind, cells.encoding, cells.delimiter)
        return form, {row.line: row.cells for row in cells.rows}


def errors(content: bytes) -> list[tuple[int, str | None]]:
    """The lines and columns of its wrong rows."""
    with cells_of(BytesIO(content)) as cells:
        return [(row.line, row.error.column) for row in cells.rows if row.error is not None]


def refused(content: bytes) -> None:
    with pytest.raises(InvalidError) as error:
        read(content)
    assert error.value.details == {"field": "/file"}


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
@pytest.mark.parametrize(
    ("codec", "encoding"),
    [
        ("utf-8", Encoding.UTF_8),
        ("utf-8-sig", Encoding.UTF_8),
        ("utf-16", Encoding.UTF_16),
        ("cp1252", Encoding.WINDOWS_1252),
    ],
)
@pytest.mark.parametrize("end", ["\r\n", "\n", "\r"])
def test_a_spreadsheet_is_read_as_it_was_saved(
    delimiter: str, codec: str, encoding: Encoding, end: str
) -> None:
    lines = ["to,name", "491,Anna", "492,Jörg €", ""]
    form, rows = read(end.join(lines).replace(",", delimiter).encode(codec))
    assert form == (Kind.CSV, encoding, delimiter)
    assert rows == {2: ANNA, 3: JOERG}


def test_utf_16_of_either_byte_order_is_read() -> None:
    text = "\ufeffto\tname\r\n492\tJörg €\r\n"
    for codec in ("utf-16-le", "utf-16-be"):
        assert read(text.encode(codec)) == ((Kind.CSV, Encoding.UTF_16, "\t"), {2: JOERG})


def test_bytes_that_windows_does_not_use_are_latin_1() -> None:
    form, rows = read("to,name\n491,J\x81rg é\n".encode("latin-1"))
    assert form == (Kind.CSV, Encoding.ISO_8859_1, ",")
    assert rows == {2: {"to": "491", "name": "J\x81rg é"}}


def test_the_encoding_is_that_of_the_whole_file(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(text_files, "_DECODED_TOGETHER", 5)
    rows = "491,Anna\n" * 5
    form, _ = read(f"to,name\n{rows}492,Jörg €\n".encode("cp1252"))
    assert form[1] == Encoding.WINDOWS_1252
    # Two parts have one character together.
    form, _ = read(f"to,name\n{rows}492,Jörg €\n".encode())
    assert form[1] == Encoding.UTF_8
    # A file that ends within a character.
    form, _ = read("to,name\n492,Jö".encode()[:-1])
    assert form[1] == Encoding.WINDOWS_1252


def test_cells_in_quotes_have_delimiters_quotes_and_line_breaks() -> None:
    text = 'to;"say, ""hi"", please"\r\n491;"a;b\r\n""c"""\r\n492;"x"\r\n'
    form, rows = read(text.encode())
    assert form[2] == ";"
    title = 'say, "hi", please'
    assert rows == {2: {"to": "491", title: 'a;b\r\n"c"'}, 4: {"to": "492", title: "x"}}


@pytest.mark.parametrize("mark", ["sep=;", '"sep=;"', "SEP=;"])
def test_the_first_line_may_name_the_delimiter(mark: str) -> None:
    form, rows = read(f"{mark}\r\nto;a,b,c\r\n491;x\r\n".encode())
    assert form[2] == ";"
    assert rows == {3: {"to": "491", "a,b,c": "x"}}


def test_empty_rows_are_left_out_and_counted_as_lines() -> None:
    _, rows = read(b"\n;;\n to ;name\n\n491;Anna\n; \n\n492;\n\n")
    assert rows == {5: ANNA, 8: {"to": "492", "name": ""}}


def test_names_of_columns_are_one_line_without_blanks_around_them() -> None:
    with cells_of(BytesIO('\ufeff to ," First\nname\t",\u00a0x\u00a0\n'.encode())) as cells:
        assert cells.names == ["to", "First name", "x"]


def test_a_row_with_more_or_fewer_cells_is_wrong() -> None:
    content = b'to,name\n491\n491,Anna,x\n491,"An\nna"\n491,Anna,\n'
    assert errors(content) == [(2, None), (3, None), (6, None)]
    assert read(content)[1][4] == {"to": "491", "name": "An\nna"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xef\xbb\xbf",
        b"\n \n",
        b"to,name,to\n491,a,b\n",
        b"to,name, name\n491,a,b\n",
        b"to,name,\n491,a,b\n",
        b"to,,name\n491,a,b\n",
        b"491711234567,Anna\n492711234567,Bert\n",
        b"+49 171 1234567\n",
        b"to," + b"x" * 129 + b"\n",
        ",".join(map(str, range(101))).encode(),
        # These rows would be cells of others.
        b'to,name\n491,"Anna\n492,Bert\n',
        b'to,name\n491,"An"na\n492,Bert\n',
        b"to,name\n491," + b"x" * 131_073,
    ],
)
def test_a_table_without_proper_names_or_quotes_is_refused(content: bytes) -> None:
    refused(content)


def test_a_table_may_have_a_hundred_columns_and_names_of_128_characters() -> None:
    names = ["x" * 128, *(f"c{i}" for i in range(99))]
    with cells_of(BytesIO(",".join(names).encode())) as cells:
        assert cells.names == names


def test_a_line_of_a_broken_table_is_named() -> None:
    with pytest.raises(InvalidError) as error:
        read(b'to,name\n491,"An\nna"\n\n492,"Bert\n493,Carl\n')
    assert "Line 5" in error.value.message


@pytest.mark.parametrize(
    "content",
    [
        b'[{"to": "491"}]',
        b'\xef\xbb\xbf \n[{"to": "491"}]',
        b"%PDF-1.7\n",
        b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1",
        b"{\\rtf1\\ansi}",
        b"to,name\n491,\0\n",
        "to,name\n".encode("utf-16-le"),
        b"\xff\xfet\0o\0\x00\xd8",
    ],
)
def test_a_file_that_is_no_table_is_refused(content: bytes) -> None:
    refused(content)


def test_a_workbook_is_refused(tmp_path: Path) -> None:
    with ZipFile(tmp_path / "list.xlsx", "w") as archive:
        archive.writestr("[Content_Types].xml", "<Types/>")
    refused((tmp_path / "list.xlsx").read_bytes())


def test_objects_are_read_line_by_line() -> None:
    lines = [
        '\ufeff{"to": "491", "name": "Anna"}',
        "",
        '  {"to": 491711234567, "price": 12.50, "new": true, "note": null}\r',
        '{"parameters": {"name": "J\\u00f6rg \\ud83d\\ude00"}, "to": "493"}',
        '{"to": "494", "parameters": null}',
    ]
    with cells_of(BytesIO("\n".join(lines).encode())) as cells:
        assert (cells.kind, cells.delimiter, cells.names) == (Kind.NDJSON, None, ["to", "name"])
        assert [row[:3] for row in cells.rows] == [
            (1, ANNA, {}),
            (3, {"to": "491711234567", "price": "12.50", "new": "true", "note": ""}, {}),
            (4, {"to": "493"}, {"name": "Jörg 😀"}),
            (5, {"to": "494"}, {}),
        ]


@pytest.mark.parametrize(
    ("line", "column"),
    [
        ('{"to": "491"', None),
        ('["491"]', None),
        ("491", None),
        ('{"to": NaN}', None),
        ('{"a":' * 40_000, None),
        ('{"to": "491"} {"to": "492"}', None),
        ('{"to": "491", "parameters": ["Anna"]}', "parameters"),
        ('{"to": "491", "parameters": "Anna"}', "parameters"),
        ('{"to": "491", "parameters": []}', "parameters"),
        ('{"to": "491", "parameters": {"name": ["Anna"]}}', "name"),
        ('{"to": {"phone": "491"}}', "to"),
        ('{"to": "491", " ": "x"}', None),
        (f'{{"to": "491", "{"x" * 129}": "x"}}', None),
        (json.dumps(dict.fromkeys(map(str, range(101)))), None),
    ],
)
def test_a_line_that_is_no_object_of_texts_is_wrong(line: str, column: str | None) -> None:
    assert errors(f'{{"to": "490"}}\n{line}\n{{"to": "491"}}\n'.encode()) == [(2, column)]


def test_an_object_may_have_a_hundred_members_and_names_of_128_characters() -> None:
    members = dict.fromkeys(["x" * 128, "y", *map(str, range(98))], "x")
    with cells_of(BytesIO(json.dumps({**members, "parameters": members}).encode())) as cells:
        assert [row[1:] for row in cells.rows] == [(members, members, None)]


def test_a_file_may_have_100_mib(tmp_path: Path) -> None:
    path = tmp_path / "list.csv"
    with path.open("wb+") as file:
        assert recipient_cells.MOST_BYTES == 104_857_600
        file.truncate(recipient_cells.MOST_BYTES + 1)
        with pytest.raises(TooLargeError), cells_of(file):
            pass
        file.truncate(recipient_cells.MOST_BYTES)
        with pytest.raises(InvalidError), cells_of(file):
            pass


@pytest.mark.parametrize(
    "content",
    [
        b"to,name\n491," + b'"x\n",' * 60_000,
        b"to,name\n" + b"," * 300_000,
        b'{"to": "491", "x": "' + b" " * 300_000 + b'"}',
    ],
)
def test_a_row_without_end_is_refused_and_not_kept_in_memory(content: bytes) -> None:
    refused(content)


def test_long_files_of_short_rows_are_read() -> None:
    rows = 40_000
    assert len(read(b"to,name\n" + b"491,Anna\n" * rows)[1]) == rows
    assert len(read(b'{"to": "491"}\n' * rows)[1]) == rows


@given(
    st.binary()
    | st.text().map(str.encode)
    | st.lists(st.sampled_from([*b'to,;\t\n\r"{}[]:1\x00\xe4\xff\xfe '])).map(bytes)
)
def test_any_file_has_rows_or_is_refused(content: bytes) -> None:
    with suppress(InvalidError), cells_of(BytesIO(content)) as cells:
        lines = [row.line for row in cells.rows]
        assert lines == sorted(set(lines))


def test_an_upload_stays_open() -> None:
    with SpooledTemporaryFile() as file:
        file.write(b"to,name\n491,Anna\n")
        for _ in range(2):
            with cells_of(file) as cells:
                assert [row.cells for row in cells.rows] == [ANNA]
        assert not file.closed
