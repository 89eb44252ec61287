"""Server-sent events in any pieces, with any line ends and any characters."""

import itertools
import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from messaging_gateway_client import NoResponseError
from messaging_gateway_client.events import Blocks

# All characters at which str.splitlines() ends a line, and some that need several bytes.
SEPARATORS = "\n\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"
TEXTS = st.text(
    st.sampled_from(f"{SEPARATORS}a:\ufeff\N{SNOWMAN}\N{GRINNING FACE}") | st.characters()
)


def _blocks(*chunks: bytes) -> list[Any]:
    blocks = Blocks()
    return [block for chunk in chunks for block in blocks.feed(chunk)]


def _pieces(data: bytes, cuts: Sequence[int]) -> Iterator[bytes]:
    """The data, cut at these places."""
    ends = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    for begin, end in itertools.pairwise(ends):
        if begin < end:
            yield data[begin:end]


@given(
    texts=st.lists(TEXTS, min_size=1),
    line_end=st.sampled_from(["\n", "\r\n"]),
    comments=st.lists(st.sampled_from([":", ": keep-alive", "retry: 1000", "event: x", "data2"])),
    is_ascii=st.booleans(),
    cuts=st.lists(st.integers(0, 10_000)),
)
def test_events_with_any_text_come_whole_in_any_pieces(
    texts: list[str],
    line_end: str,
    comments: list[str],
    *,
    is_ascii: bool,
    cuts: list[int],
) -> None:
    texts = [text.encode("utf-8", "replace").decode() for text in texts]
    lines: list[str] = []
    for number, text in enumerate(texts):
        lines += [
            *comments,
            f"id: {number}",
            f"data: {json.dumps(text, ensure_ascii=is_ascii)}",
            "",
        ]
    data = "".join(f"{line}{line_end}" for line in lines).encode()
    found = _blocks(*_pieces(data, cuts))
    assert [last_id for last_id, _ in found] == [f"{number}" for number in range(len(texts))]
    assert [json.loads(data or b"") for _, data in found] == texts


@given(
    data=st.binary() | st.text(st.sampled_from("data: id\n\r\0x")).map(str.encode),
    cuts=st.lists(st.integers(0, 100)),
)
def test_pieces_never_matter(data: bytes, cuts: list[int]) -> None:
    assert _blocks(*_pieces(data, cuts)) == _blocks(data)


@given(data=st.text(st.sampled_from("data: id\n\r\0x"), max_size=200))
def test_a_line_ends_where_the_standard_says(data: str) -> None:
    lines = re.split("\r?\n", data)[:-1]
    found = _blocks(data.encode())
    assert len(found) <= lines.count("")


def test_a_block_has_its_last_id_and_all_its_data() -> None:
    chunks = b"id: 1\ndata: a\ndata:b\nid:2\n\n", b": x\n\n", b"id: 3\n\nid: 4\nevent: never"
    assert _blocks(*chunks) == [("2", b"a\nb"), ("3", None)]


def test_an_id_with_nul_is_ignored() -> None:
    assert _blocks(b"id: 1\nid: \0\ndata: a\n\n") == [("1", b"a")]


@pytest.mark.parametrize("piece", [b"x" * 1_000_000, b"data: x\n" * 1_000_000])
def test_a_block_without_an_end_is_bounded(piece: bytes) -> None:
    with pytest.raises(NoResponseError, match="too long"):
        _blocks(*[piece] * 10)


def test_a_line_end_may_be_cut_in_two() -> None:
    data = b"id: 1\r\ndata: a\r\n\r\nid: 2\r\ndata: b\r\n\r\n"
    whole = [("1", b"a"), ("2", b"b")]
    assert all(_blocks(data[:cut], data[cut:]) == whole for cut in range(len(data)))
