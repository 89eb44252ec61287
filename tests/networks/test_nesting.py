"""The limit of levels in JSON from outside."""

import json
from typing import Any

import pytest

from networks.nesting import MOST_LEVELS, is_too_deep


def _nested(levels: int, core: Any, *, in_list: bool) -> Any:
    for _ in range(levels):
        core = [core] if in_list else {"a": core}
    return core


@pytest.mark.parametrize("in_list", [True, False])
@pytest.mark.parametrize("core", [1, "[{", "\u005b"])
def test_levels_are_counted_of_arrays_and_objects(core: Any, *, in_list: bool) -> None:
    most = _nested(MOST_LEVELS, core, in_list=in_list)
    more = _nested(MOST_LEVELS + 1, core, in_list=in_list)
    assert not is_too_deep(json.dumps(most).encode(), most)
    assert is_too_deep(json.dumps(more).encode(), more)


def test_many_values_side_by_side_are_not_deep() -> None:
    wide = [{"a": [[]], "b": "[[[["} for _ in range(1_000)]
    assert not is_too_deep(json.dumps(wide).encode(), wide)
