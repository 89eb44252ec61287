"""The programs of docs/sdk-typescript.md that need no other package are typed, and do what the page says."""

import shutil
from pathlib import Path
from typing import Any

import pytest

from contract_tests.clients.doc_programs import Reader, write
from contract_tests.clients.sdk import compiled, installed
from contract_tests.clients.toolbox import PROGRAMS
from contract_tests.doc_blocks import blocks
from contract_tests.harness import Gateway, wait_for

PAGE = "docs/sdk-typescript.md"
FILES = ("send.mts", "follow.mts", "files.mts", "broadcast.mts")


def programs(page: str = PAGE) -> list[str]:
    """The programs in TypeScript, in order."""
    return [block.text for block in blocks(page) if block.language == "ts"]


@pytest.fixture(scope="module")
def reader(gateway: Gateway) -> Reader:
    """A customer who runs the programs."""
    return Reader(gateway)


@pytest.fixture(scope="module")
def folder(sdk: Path, reader: Reader, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The compiled programs, with the customer's values."""
    folder = installed(sdk, tmp_path_factory.mktemp("docs"))
    shutil.copy(PROGRAMS / "sdk_typescript" / "tsconfig.json", folder)
    write(folder, FILES, programs())
    reader.fill(folder, FILES)
    assert compiled(folder) == ""
    return folder


def test_the_readme_shows_the_program_of_the_page() -> None:
    assert programs("sdk/typescript/README.md") == programs()[:1]


def test_the_programs_send_follow_and_upload(folder: Path, reader: Reader) -> None:
    reader.check_sending(folder, ("node", "out/send.mjs"))
    reader.check_following(folder, ("node", "out/follow.mjs"), "place")
    (folder / "photo.jpg").write_bytes(b"a photo")
    *listed, uploaded = reader.run(folder, ("node", "out/files.mjs"))
    [sent] = reader.customer.request("GET", "/messages?direction=OUTBOUND").json()["data"]
    assert [line.split()[0] for line in listed] == [sent["id"]]
    assert uploaded.isdigit()


def test_the_program_sends_to_the_people_of_a_file(folder: Path, reader: Reader) -> None:
    (folder / "customers.csv").write_text("phone,name,day\n15551234567,Maria,Friday\n")
    [made] = reader.run(folder, ("node", "out/broadcast.mjs"))

    def recipients() -> Any:
        path = f"/broadcasts/{made}/recipients?status=read"
        return reader.customer.request("GET", path).json()["data"]

    [recipient] = wait_for(recipients, "a message that is read")
    assert recipient["parameters"] == {"name": "Maria", "day": "Friday"}
