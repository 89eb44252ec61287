"""docs/asvs.md has a result for every requirement of level 2 of ASVS 4.0.3, and few that fail.

docs/security.md counts them.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE, SECURITY = ((DOCS / name).read_text() for name in ("asvs.md", "security.md"))
RESULTS = ("pass", "fail", "not applicable")
ROW = re.compile(rf"^\| ([\d., -]+) \| ({'|'.join(RESULTS)}) \| .+ \|$", re.MULTILINE)
MOST_THAT_FAIL = 3
# The numbers of the standard, by section.
LEVEL_2 = (
    "1.1.1-7 1.2.1-4 1.4.1 1.4.4-5 1.5.1-4 1.6.1-4 1.7.1-2 1.8.1-2 1.9.1-2 1.10.1 1.11.1-2 1.12.2 1.14.1-6",
    "2.1.1-12 2.2.1-3 2.3.1-3 2.4.1-5 2.5.1-7 2.6.1-3 2.7.1-6 2.8.1-7 2.9.1-3 2.10.1-4",
    "3.1.1 3.2.1-4 3.3.1-4 3.4.1-5 3.5.1-3 3.7.1",
    "4.1.1-3 4.1.5 4.2.1-2 4.3.1-3",
    "5.1.1-5 5.2.1-8 5.3.1-10 5.4.1-3 5.5.1-4",
    "6.1.1-3 6.2.1-6 6.3.1-2 6.4.1-2",
    "7.1.1-4 7.2.1-2 7.3.1 7.3.3-4 7.4.1-3",
    "8.1.1-4 8.2.1-3 8.3.1-8",
    "9.1.1-3 9.2.1-4",
    "10.2.1-2 10.3.1-3",
    "11.1.1-8",
    "12.1.1-3 12.2.1 12.3.1-6 12.4.1-2 12.5.1-2 12.6.1",
    "13.1.1 13.1.3-5 13.2.1-3 13.2.5-6 13.3.1-2 13.4.1-2",
    "14.1.1-4 14.2.1-6 14.3.2-3 14.4.1-7 14.5.1-4",
)


def _items(text: str) -> Iterator[str]:
    """Single numbers: 1.4.4-5 is 1.4.4 and 1.4.5."""
    for section, first, last in re.findall(r"(\d+\.\d+)\.(\d+)(?:-(\d+))?", text):
        for number in range(int(first), int(last or first) + 1):
            yield f"{section}.{number}"


def test_every_requirement_of_level_2_has_one_result() -> None:
    found = Counter(item for items, _ in ROW.findall(PAGE) for item in _items(items))
    assert found == dict.fromkeys(_items(" ".join(LEVEL_2)), 1)
    assert found.total() == 259


def test_few_requirements_fail_and_each_has_its_reason() -> None:
    failed = [
        item for items, result in ROW.findall(PAGE) if result == "fail" for item in _items(items)
    ]
    assert len(failed) <= MOST_THAT_FAIL
    explained = re.findall(r"^\| ([\d.]+) \| (?!pass|fail|not)", PAGE, re.MULTILINE)
    assert explained == failed
    assert f"fails: {', '.join(failed[:-1])} and {failed[-1]}." in SECURITY


def test_the_results_are_counted_by_chapter() -> None:
    counts = [
        (chapter.partition("\n")[0], _counts(chapter))
        for chapter in re.split("^## ", PAGE, flags=re.MULTILINE)[1:]
    ]
    assert len(counts) == 14
    for name, (passed, failed, beside) in [*counts, ("All", _counts(PAGE))]:
        assert f"| {name} | {passed} | {failed} | {beside} |" in SECURITY
    assert "{} pass, {} fail, {} are not applicable.".format(*_counts(PAGE)) in PAGE


def _counts(text: str) -> list[int]:
    """The requirements with each of RESULTS."""
    found = Counter(dict.fromkeys(RESULTS, 0))
    for items, result in ROW.findall(text):
        found[result] += len(list(_items(items)))
    return list(found.values())
