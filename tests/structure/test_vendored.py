"""Third-party files are identical to the published ones."""

from pathlib import Path

import pytest

from tooling.vendor import FILES, LOGO, NO_IMAGE

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ROOT / "node_modules"
VENDORED = Path("dashboard/static/vendored")
PATHS = [(package, file) for package, files in FILES.items() for file in files]


def test_htmx_is_the_published_file_of_the_locked_version() -> None:
    published = PACKAGES / "htmx.org" / "dist" / "htmx.min.js"
    assert (ROOT / "dashboard/static/htmx.min.js").read_bytes() == published.read_bytes()


@pytest.mark.parametrize(("package", "file"), PATHS)
def test_a_vendored_file_is_the_published_one_of_the_locked_version(
    package: str, file: str
) -> None:
    published = (PACKAGES / package / file).read_bytes()
    ours = (ROOT / VENDORED / package / Path(file).name).read_bytes()
    assert ours == published.replace(LOGO, NO_IMAGE)
