"""The stored beginning of a response: bounded, compressed and decompressed, and readable."""

import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from webhooks.response import KEPT_BYTES, READ_LIMIT, Excerpt

LONG = b"a" * 10_000_000


def _bare(body: bytes) -> bytes:
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(body) + packer.flush()


PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": bytes,
    "identity": bytes,
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    " GZip ": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": _bare,
}


def _read(encoding: str, wire: bytes, step: int = READ_LIMIT) -> tuple[Excerpt, int]:
    """Feed the excerpt like the client. Returns it, and the number of bytes that it took."""
    excerpt, at = Excerpt(encoding), 0
    while chunk := wire[at : at + min(step, excerpt.room)]:
        excerpt.add(chunk)
        at += len(chunk)
    return excerpt, at


@pytest.mark.parametrize("step", [1, 7, READ_LIMIT])
@pytest.mark.parametrize("encoding", PACKERS)
def test_a_short_body_is_kept_whole_however_it_comes(encoding: str, step: int) -> None:
    wire = PACKERS[encoding]("olá ☕".encode())
    excerpt, taken = _read(encoding, wire, step)
    assert (excerpt.text(), taken) == ("olá ☕", len(wire))


@pytest.mark.parametrize("encoding", PACKERS)
def test_a_long_body_is_read_to_the_limit_and_its_start_is_stored(encoding: str) -> None:
    excerpt, taken = _read(encoding, PACKERS[encoding](LONG))
    assert excerpt.text() == "a" * KEPT_BYTES
    assert taken <= READ_LIMIT
    assert max(len(excerpt._unpacked), taken) == READ_LIMIT
    assert excerpt.room == 0


def test_an_endless_compressed_body_without_content_is_read_to_the_limit() -> None:
    """Blocks that decompress to nothing never reach the limit of decompressed bytes."""
    packer = zlib.compressobj()
    nothing = packer.flush(zlib.Z_FULL_FLUSH) * 10_000
    excerpt, taken = _read("deflate", b"\x78\x9c" + nothing.removeprefix(b"\x78\x9c"))
    assert taken <= READ_LIMIT
    assert excerpt.room == READ_LIMIT - taken or excerpt.room == 0


def test_a_packed_body_that_is_cut_off_is_kept_as_far_as_it_came() -> None:
    text = "".join(f"line {i}\n" for i in range(100))
    wire = gzip.compress(text.encode())
    excerpt, _ = _read("gzip", wire[:-20])
    assert excerpt.text()
    assert text.startswith(excerpt.text())


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "gzip, gzip", "nonsense"])
def test_a_body_that_cannot_be_unpacked_is_kept_as_it_came(encoding: str) -> None:
    assert _read(encoding, b"not packed")[0].text() == "not packed"


@pytest.mark.parametrize("encoding", ["gzip", "deflate"])
def test_a_body_that_breaks_half_way_keeps_what_was_unpacked(encoding: str) -> None:
    wire = bytearray(PACKERS[encoding](b"so far so good" * 1000))
    packed = bytes(wire[:-8]) + b"\0" * 8
    assert _read(encoding, packed, step=1)[0].text().startswith("so far so good")


@pytest.mark.parametrize("encoding", PACKERS)
def test_an_empty_body_is_an_empty_text(encoding: str) -> None:
    assert _read(encoding, b"")[0].text() == ""
    assert _read(encoding, PACKERS[encoding](b""))[0].text() == ""


def test_a_character_split_by_the_limit_is_left_out() -> None:
    text = "a" * (KEPT_BYTES - 1) + "é"
    assert _read("", text.encode())[0].text() == "a" * (KEPT_BYTES - 1)
    assert _read("", "é".encode()[:1])[0].text() == "\ufffd", (
        "the body itself ends in half a letter"
    )


@given(
    encoding=st.sampled_from([*PACKERS, "br"]),
    wire=st.one_of(
        st.binary(max_size=200),
        st.binary(max_size=200).map(gzip.compress),
        st.binary(max_size=200).map(lambda body: zlib.compress(body)[:-3]),
        st.binary(max_size=200).map(lambda body: gzip.compress(body * 1000)[3:]),
    ),
    step=st.integers(1, 100),
)
def test_arbitrary_bytes_never_raise_and_never_exceed_a_limit(
    encoding: str, wire: bytes, step: int
) -> None:
    excerpt, taken = _read(encoding, wire, step)
    assert taken <= READ_LIMIT
    assert len(excerpt._unpacked) <= READ_LIMIT
    assert len(excerpt.text()) <= KEPT_BYTES
