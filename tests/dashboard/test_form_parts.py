"""Forms with a file have few parts: many small ones would stay in memory, where one large file does not."""

import gc
import re
import tracemalloc
from collections.abc import Callable, Iterator, Sequence
from tempfile import SpooledTemporaryFile

import pytest

from contract_tests.waiting import wait_for
from gateway.api.app import MOST_FORM_PARTS, build_app
from models.accounts.user import User
from models.accounts.user_session import UserSession
from models.numbers.number import Number
from tests import factories
from tests.asgi import Answered, ask, http_scope
from tests.conftest import Configure

# Werkzeug leaves the files of a refused form to the garbage collector.
pytestmark = pytest.mark.filterwarnings("ignore::ResourceWarning")

Post = Callable[[Sequence[bytes]], Answered]

HEAD = b'--x\r\nContent-Disposition: form-data; name="file"; filename="a"\r\n\r\n'
END = b"--x--\r\n"
# Werkzeug keeps smaller files in memory.
PIECE = b"x" * 100_000
PIECES = 200


@pytest.fixture
def post(configure: Configure, number: Number, user: User) -> Iterator[Post]:
    """Posts a form of these chunks, after the session's token, as a reply with a file."""
    others = _files()
    app = build_app(configure())
    cookie = f"gateway_session={UserSession.begin(user)}"
    path = f"/dashboard/inbox/{factories.contact(number).id}/media"

    def fetch(method: str, path: str, chunks: Sequence[bytes]) -> Answered:
        kind = {"Content-Type": "multipart/form-data; boundary=x"} if method == "POST" else {}
        size = {"Content-Length": str(sum(map(len, chunks)))}
        scope = http_scope(
            method, path, headers={"Host": "127.0.0.1", "Cookie": cookie} | kind | size
        )
        answered = ask(app, scope, chunks)
        assert answered is not None
        return answered

    [token] = set(re.findall(rb'name="csrf_token" value="(\w+)"', fetch("GET", path, [b""]).body))
    first = b'--x\r\nContent-Disposition: form-data; name="csrf_token"\r\n\r\n%b\r\n' % token
    yield lambda chunks: fetch("POST", path, [first, *chunks, END])
    # The thread of the request may not have ended yet.
    wait_for(lambda: not _files() - others, "the end of the files")


def _files() -> set[int]:
    """The temporary files in memory. Those of other tests may stay."""
    gc.collect()
    return {id(each) for each in gc.get_objects() if isinstance(each, SpooledTemporaryFile)}


def test_a_form_of_too_many_parts_is_refused_with_the_number_that_is_allowed(post: Post) -> None:
    part = HEAD + b"\r\n"
    # Without the key of the form.
    assert post([part] * (MOST_FORM_PARTS - 1)).status == 400
    refused = post([part] * MOST_FORM_PARTS)
    assert refused.status == 413
    assert refused.header("content-type").startswith("text/html")
    assert f"{MOST_FORM_PARTS} fields".encode() in refused.body


def test_many_small_parts_take_no_more_memory_than_a_large_one(post: Post) -> None:
    def peak(chunks: Sequence[bytes]) -> int:
        tracemalloc.start()
        try:
            post(chunks)
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    large = peak([HEAD, *[PIECE] * PIECES, b"\r\n"])
    many = peak([HEAD, PIECE, b"\r\n"] * PIECES)
    assert many < large + MOST_FORM_PARTS * len(PIECE)
