"""The colours of tokens.css: text on each of its backgrounds reaches WCAG AA, in both schemes."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOKENS = (ROOT / "dashboard/static/tokens.css").read_text()
COLOUR = re.compile(r"--([a-z-]+): light-dark\((#[0-9a-f]+), (#[0-9a-f]+)\);")
PLAIN = re.compile(r"--([a-z-]+): (#[0-9a-f]+);")
ALIAS = re.compile(r"--([a-z-]+): var\(--([a-z-]+)\);")
TEXT, EDGE = 4.5, 3.0
GROUNDS = ("paper", "wall")
PAIRS = [
    *(
        (text, ground, TEXT)
        for text in ("ink", "soft", "accent", "warn", "bad")
        for ground in GROUNDS
    ),
    *((state, f"{state}-tint", TEXT) for state in ("good", "warn", "bad")),
    ("accent", "tint", TEXT),
    ("ink", "tint", TEXT),
    ("on-accent", "accent", TEXT),
    ("on-code", "code", TEXT),
    ("on-code", "panel", TEXT),
    *(("white", method, TEXT) for method in ("get", "post", "patch", "delete")),
    ("edge", "paper", EDGE),
    ("second", "paper", EDGE),
]

# White text is used on the methods' colours, and on a button of Swagger UI inside code.
ALLOWED = {"swagger-ui.css": {"#fff", "#3a4a43"}}


def _scheme(index: int) -> dict[str, str]:
    """The colours by name: 0 for light, 1 for dark."""
    found = {name: pair[index] for name, *pair in COLOUR.findall(TOKENS)}
    found |= dict(PLAIN.findall(TOKENS)) | {"white": "#ffffff"}
    return found | {name: found[other] for name, other in ALIAS.findall(TOKENS)}


def _luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == len("#rrggbb") else "".join(c * 2 for c in colour[1:])
    parts = [int(digits[at : at + 2], 16) / 255 for at in (0, 2, 4)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("index", [0, 1], ids=["light", "dark"])
@pytest.mark.parametrize(("text", "ground", "least"), PAIRS)
def test_a_colour_can_be_read_on_its_ground(
    index: int, text: str, ground: str, least: float
) -> None:
    scheme = _scheme(index)
    brighter, darker = sorted((_luminance(scheme[n]) for n in (text, ground)), reverse=True)
    assert (brighter + 0.05) / (darker + 0.05) >= least


def test_the_sandbox_has_the_same_colours_under_the_same_names() -> None:
    phones = (ROOT / "sandbox/sandbox/static/phone/page.css").read_text()
    ours, theirs = (
        {name: pair for name, *pair in COLOUR.findall(text)} for text in (TOKENS, phones)
    )
    common = ours.keys() & theirs.keys()
    assert {"ink", "soft", "paper", "wall", "accent", "bad"} <= common
    assert {name: theirs[name] for name in common} == {name: ours[name] for name in common}


@pytest.mark.parametrize(
    "path", sorted((ROOT / "dashboard/static").glob("*.css")), ids=lambda p: p.name
)
def test_a_style_sheet_has_no_colour_beside_the_tokens(path: Path) -> None:
    own = set(re.findall(r"#[0-9a-fA-F]{3,8}\b", path.read_text()))
    if path.name != "tokens.css":
        assert own <= ALLOWED.get(path.name, set())
