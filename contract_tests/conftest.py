"""Fixtures: accounts and a browser for each module, and a receiver. Folders and modules have the services."""

from collections.abc import Generator, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser
from xdist.remote import Producer
from xdist.scheduler import LoadFileScheduling

from contract_tests.backends import keep_those_of_the_backend
from contract_tests.chromium import launched
from contract_tests.harness import Customer, Gateway, Receiver
from contract_tests.service import LAUNCHED

# A failure's report has the last lines of each service's log, without the access log. Its last errors come
# first, because a record of the report may be cut.
LINES, ERRORS, ACCESS, ERROR = 12, 4, "gateway.http.access_log", '"level":"ERROR"'

# These modules or folders take the longest. If they started last, one process would run long after the
# others.
LONGEST = (
    "test_docs_site.py",
    "test_dashboard_axe.py",
    "test_fuzz.py",
    "test_conformance_limits.py",
    "test_heavy_loads.py",
    "test_chaos.py",
    "test_broadcast_troubles.py",
    "test_chaos_broadcast.py",
    "test_connect_refusals.py",
    "test_sole_web.py",
    "test_generated_clients.py",
    "test_phone_page.py",
    "test_broadcast_limits.py",
    "test_doctor.py",
    "test_redelivery.py",
    "test_upgrade.py",
    "test_backup.py",
    "test_switched_off.py",
    "test_clean_stop.py",
    "test_bad_input.py",
    "test_traces.py",
    "test_survival.py",
    "test_stranger_fuzz.py",
    "test_outage.py",
    "test_lost_commits.py",
)
# Modules in these folders share a service, so one process runs the whole folder.
SHARING = (
    "contract_tests/callbacks/",
    "contract_tests/cli/",
    "contract_tests/conformance/",
    "contract_tests/connect/",
    "contract_tests/dashboard/",
    "contract_tests/phone/",
    "contract_tests/sdk/",
    "contract_tests/shared/",
    "contract_tests/third_party/",
)


class OneServiceEach(LoadFileScheduling):
    """Distributes whole modules, and whole folders where the modules share a service."""

    def _split_scope(self, nodeid: str) -> str:
        module: str = super()._split_scope(nodeid)
        return next((folder for folder in SHARING if module.startswith(folder)), module)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> OneServiceEach:
    """How pytest-xdist distributes the tests to processes (``-n``)."""
    return OneServiceEach(config, log)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest modules first, then modules that start a service, then the rest."""
    keep_those_of_the_backend(config, items)
    places = {name: place for place, name in enumerate(LONGEST)}
    here = Path(__file__).parent

    def place(item: pytest.Item) -> int:
        behind = len(LONGEST) + (here not in item.path.parents)
        return places.get(item.path.name, behind)

    items.sort(key=place)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Add to a failure what the running services of this process wrote last."""
    report = yield
    if report.failed:
        for gateway in LAUNCHED:
            if gateway.is_running:
                lines = [line for line in gateway.log().splitlines() if ACCESS not in line]
                errors = [line for line in lines if ERROR in line]
                written = "\n".join(errors[-ERRORS:] + lines[-LINES:])
                report.sections.append((f"log of {gateway.url}", written))
    return report


@pytest.fixture(scope="module")
def customer(gateway: Gateway) -> Customer:
    """An account with the plan Pro, a key and an active number."""
    return gateway.customer()


@pytest.fixture(scope="module")
def other_customer(gateway: Gateway) -> Customer:
    """Another account, whose resources are foreign to the first account."""
    return gateway.customer()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A customer's HTTP server."""
    server = Receiver()
    yield server
    server.close()


# Not of session scope: while Playwright runs, its event loop occupies this thread.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """The system's Chromium. A module's tests share it, and have separate contexts."""
    with launched() as browser:
        yield browser
