"""The commands of the documentation do what it says."""

import signal
from collections.abc import Iterator

import pytest

from contract_tests.doc_blocks import pages_of_use
from contract_tests.doc_reader import Reader
from contract_tests.first_run import FirstRun
from contract_tests.harness import wait_for

STATUSES = {"message.sent", "message.delivered", "message.read"}
# These pages begin with a service that was just started.
FIRST = ("README.md", "docs/quickstart.md")


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[FirstRun]:
    """A new service, shared by all pages."""
    service = FirstRun(tmp_path_factory.mktemp("service")).start()
    yield service
    service.end(signal.SIGTERM)


@pytest.fixture
def reader(service: FirstRun) -> Iterator[Reader]:
    """A reader in the folder of the service."""
    someone = Reader(service, service.folder)
    yield someone
    someone.stop()


def test_every_block_of_the_readme_works(reader: Reader) -> None:
    reader.read("README.md")
    events = reader.done[-1]
    wait_for(
        lambda: all(kind in reader.shell.run(events) for kind in STATUSES),
        "every status among the events that the README lists",
    )


def test_every_block_of_the_quickstart_works(reader: Reader) -> None:
    reader.read("docs/quickstart.md")
    expected = {*STATUSES, "message.received"}
    wait_for(lambda: reader.kinds() == expected, "every event at the receiver")


@pytest.mark.parametrize("page", [page for page in pages_of_use() if page not in FIRST])
def test_every_block_of_a_page_works(reader: Reader, page: str) -> None:
    reader.has_a_message()
    reader.read(page)
