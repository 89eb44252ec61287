"""Files of others that lie in the repository are what their authors published."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_htmx_is_the_published_file_of_the_locked_version() -> None:
    published = ROOT / "node_modules" / "htmx.org" / "dist" / "htmx.min.js"
    assert (ROOT / "dashboard/static/htmx.min.js").read_bytes() == published.read_bytes()
