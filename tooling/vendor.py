#!/usr/bin/env python3
"""Fills dashboard/static/vendored/ with third-party scripts, styles and fonts.

Their versions are those of package-lock.json. They come from node_modules if installed there, otherwise from
`npm pack`, with the locked hash checked. Needs only the standard library, so that an image build can run it.
"""

import base64
import hashlib
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
TARGET = ROOT / "dashboard" / "static" / "vendored"
REDOC = "bundles/redoc.standalone.js"
FILES = {
    "swagger-ui-dist": (
        "swagger-ui-bundle.js",
        "swagger-ui-bundle.js.LICENSE.txt",
        "swagger-ui.css",
        "LICENSE",
        "NOTICE",
    ),
    "redoc": (REDOC, f"{REDOC}.LICENSE.txt", "LICENSE"),
    "@fontsource-variable/inter": (
        "files/inter-latin-wght-normal.woff2",
        "files/inter-latin-ext-wght-normal.woff2",
        "LICENSE",
    ),
}
# Redoc loads its vendor's logo from another server, without an option. Browsers hide an empty image.
LOGO = b"https://cdn.redoc.ly/redoc/logo-mini.svg"
NO_IMAGE = b"data:,"


def _package(name: str, lock: dict[str, str], scratch: Path) -> Path:
    """The folder with the files of a package, at the locked version."""
    installed = ROOT / "node_modules" / name
    about = installed / "package.json"
    if about.exists() and json.loads(about.read_bytes())["version"] == lock["version"]:
        return installed
    return _fetch(name, lock, scratch / name)


def _fetch(name: str, lock: dict[str, str], folder: Path) -> Path:
    wanted = f"{name}@{lock['version']}"
    npm = shutil.which("npm") or sys.exit("npm is missing; requirements-pages.lock brings one.")
    print(f"Fetching {wanted}", file=sys.stderr)
    folder.mkdir(parents=True)
    subprocess.run(
        [npm, "pack", "--silent", wanted], cwd=folder, check=True, stdout=subprocess.DEVNULL
    )
    (archive,) = folder.glob("*.tgz")
    digest = base64.b64encode(hashlib.sha512(archive.read_bytes()).digest()).decode()
    if lock["integrity"] != f"sha512-{digest}":
        sys.exit(f"{wanted} is not what package-lock.json locks; its hash is sha512-{digest}")
    subprocess.run(["tar", "-xzf", archive.name], cwd=folder, check=True)
    return folder / "package"


def _content(path: Path) -> bytes:
    content = path.read_bytes()
    if path.name == Path(REDOC).name:
        if content.count(LOGO) != 1:
            sys.exit(f"{path.name} has no {LOGO.decode()}: see what it loads instead.")
        content = content.replace(LOGO, NO_IMAGE)
    return content


def main() -> None:
    """Replace the whole folder, so that it is never incomplete."""
    packages = json.loads((ROOT / "package-lock.json").read_bytes())["packages"]
    with tempfile.TemporaryDirectory(dir=TARGET.parent, prefix="vendored.") as folder:
        scratch, new = Path(folder), Path(folder) / "vendored"
        for name, files in FILES.items():
            source = _package(name, packages[f"node_modules/{name}"], scratch)
            (new / name).mkdir(parents=True)
            for file in files:
                (new / name / Path(file).name).write_bytes(_content(source / file))
        shutil.rmtree(TARGET, ignore_errors=True)
        new.rename(TARGET)


if __name__ == "__main__":
    main()
