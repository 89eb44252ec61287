"""Builds the files of a release into dist/: ``make release`` runs this as ``python -m tooling.release``.

Nothing is uploaded, and no tag is created. All times in the files are the commit's, so the same commit
gives the same bytes. contract_tests/make_release.py checks the files.
"""

import hashlib
import shutil
import sys
from pathlib import Path

from tooling.package import NAME, ROOT, VERSION, build, commit_time, git
from tooling.sbom import sbom
from tooling.sdk_typescript import pack

DIST = ROOT / "dist"
CONTAINERFILE = ROOT / "deploy" / "Containerfile"
# The first stage installs the wheel. The last one is copied from deploy/Containerfile.
IMAGE = """\
# The image of Messaging Gateway {version}. Build it in the folder of the release's files:
#   docker build -f Containerfile -t messaging-gateway:{version} .
{arguments}
{base} AS build
RUN python -m venv --without-pip /opt/gateway
WORKDIR /release
COPY requirements.txt {wheels} ./
RUN pip --python /opt/gateway install --no-cache-dir --require-hashes -r requirements.txt

{base}
LABEL org.opencontainers.image.version="{version}"
{rest}"""


def _digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def requirements(wheels: list[Path]) -> str:
    """The runtime lock and the wheels, with hashes, as one file for pip."""
    lock = (ROOT / "requirements.lock").read_text()
    ours = [f"./{wheel.name} \\\n    --hash=sha256:{_digest(wheel)}\n" for wheel in wheels]
    return "".join([lock, *ours])


def containerfile(wheels: list[Path]) -> str:
    """The image of deploy/Containerfile, with the released wheels instead of the sources."""
    text = CONTAINERFILE.read_text()
    before, _, last = text.rpartition("\nFROM ")
    arguments = [line for line in before.splitlines() if line.startswith("ARG ")]
    image, _, rest = last.partition("\n")
    return IMAGE.format(
        version=VERSION,
        arguments="\n".join(arguments),
        base=f"FROM {image}",
        wheels=" ".join(wheel.name for wheel in wheels),
        rest=rest,
    )


def main() -> None:
    """Replace dist/ with the files of this commit."""
    if changed := git("status", "--porcelain"):
        sys.exit(f"A release is built from a commit. Commit or remove these first:\n{changed}")
    shutil.rmtree(DIST, ignore_errors=True)
    DIST.mkdir()
    for folder in (ROOT, ROOT / "sdk" / "python"):
        build(folder, DIST, "wheel", "sdist", made_at=commit_time())
    wheels = [_, client] = sorted(DIST.glob("*.whl"))
    build(ROOT / "sandbox", DIST, "wheel", made_at=commit_time())
    pack(DIST)
    (DIST / f"{NAME}-{VERSION}.cdx.json").write_text(sbom(commit_time(), client))
    (DIST / "requirements.txt").write_text(requirements(wheels))
    (DIST / "Containerfile").write_text(containerfile(wheels))
    sums = [f"{_digest(path)}  {path.name}\n" for path in sorted(DIST.iterdir())]
    (DIST / "SHA256SUMS").write_text("".join(sums))
    print("".join(sums), end="")


if __name__ == "__main__":
    main()
