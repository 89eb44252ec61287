"""Recipients are uploaded as a file, and read until they expire."""

import pytest

from contract_tests.conformance.exchange import Api

PATH, FILES = "/broadcasts/files", "/recipient-files"
NOTHING = "rf_01JD5Z8K4T9QW3X7VB2N6M1R0P"


@pytest.mark.parametrize(
    ("content", "kind", "encoding"),
    [
        ("Name;Phone\r\nJörg;+49 171 1234567\r\n".encode("cp1252"), "csv", "windows-1252"),
        ("Name\tPhone\r\nJörg\t+49 171 1234567\r\n".encode("utf-16"), "csv", "utf-16"),
        (b'{"Phone": "491711234567", "parameters": {"Name": "Ann"}}\n', "ndjson", "utf-8"),
    ],
)
def test_a_file_is_uploaded_and_read(api: Api, content: bytes, kind: str, encoding: str) -> None:
    made = api.post(PATH, 201, files={"file": ("list.csv", content)})
    assert (made["kind"], made["encoding"], made["toColumn"]) == (kind, encoding, "Phone")
    assert (made["rows"], made["recipients"], made["errors"]) == (1, 1, [])
    assert [column["name"] for column in made["columns"]] == ["Name"]
    assert api.get(f"{FILES}/{made['id']}") == made
    api.get(f"{FILES}/{NOTHING}", 404)


def test_wrong_rows_are_listed_with_the_number_of_the_country(api: Api) -> None:
    files = {"file": ("list.csv", "a,b\n1,0171 1234567\n")}
    made = api.post(f"{PATH}?toColumn=b&country=DE", 201, files=files)
    assert made["wrong"] == 1
    [error] = made["errors"]
    assert (error["line"], error["column"], error["corrected"]) == (2, "b", "491711234567")


@pytest.mark.parametrize(
    ("query", "content", "field"),
    [
        ("", b"PK\x03\x04", "/file"),
        ("", b"a,b\n1,2\n", "/file"),
        ("?toColumn=c", b"a,b\n1,2\n", "/toColumn"),
        ("?country=de", b"to\n", "/country"),
        ("?country=XX", b"to\n", "/country"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused(
    api: Api, query: str, content: bytes, field: str
) -> None:
    refused = api.post(PATH + query, 400, files={"file": ("list.csv", content)})["error"]
    assert refused["details"]["field"] == field


def test_a_body_of_another_type_is_refused(api: Api) -> None:
    api.post(PATH, 415, json={"file": "to\n"})
    api.post(PATH, 400, files={"list": ("list.csv", b"to\n")})
