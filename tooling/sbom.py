"""The software bill of materials (SBOM) of a release: packages that it requires or bundles.

CycloneDX in JSON. Names, versions and hashes come from requirements.lock and package-lock.json, licenses from
the installed packages.
"""

import json
import re
from base64 import b64decode
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256
from importlib.metadata import PackageMetadata, PackageNotFoundError, metadata
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

from cyclonedx.factory.license import LicenseFactory
from cyclonedx.model import HashAlgorithm, HashType
from cyclonedx.model.bom import Bom
from cyclonedx.model.component import Component, ComponentType
from cyclonedx.output.json import JsonV1Dot6
from packageurl import PackageURL

from tooling.package import NAME, ROOT, SETTINGS, VERSION
from tooling.vendor import FILES

PINNED = re.compile(
    r"^([\w.-]+)==([^\s;]+).*\\\n((?: +--hash=sha256:[0-9a-f]{64}.*\n)+)", re.MULTILINE
)
HASH = re.compile(r"[0-9a-f]{64}")
# Third-party scripts in a wheel. htmx is in the repository, tooling/vendor.py adds the others.
BUNDLED = (*FILES, "htmx.org")
ALGORITHMS = {"sha512": HashAlgorithm.SHA_512}
# Longer ones are whole texts of licenses.
MAX_LICENSE = 100


def sbom(made_at: int, client: Path) -> str:
    """The JSON text, with its time of creation in seconds since 1970. ``client`` is our client's wheel."""
    components = [*_required(), _ours(client), *_bundled()]
    bom = Bom(components=components)
    bom.metadata.timestamp = datetime.fromtimestamp(made_at, UTC)
    bom.metadata.component = _product()
    bom.register_dependency(bom.metadata.component, components)
    contents = " ".join(sorted(str(component.purl) for component in [_product(), *components]))
    bom.serial_number = uuid5(NAMESPACE_URL, contents)
    return f"{JsonV1Dot6(bom).output_as_string(indent=2)}\n"


def _product() -> Component:
    url = PackageURL("generic", name=NAME, version=VERSION)
    return _component(url, SETTINGS["project"]["license"], [], ComponentType.APPLICATION)


def _required() -> Iterator[Component]:
    """Each package of the runtime lock, including those that only other platforms need."""
    for name, version, hashes in PINNED.findall((ROOT / "requirements.lock").read_text()):
        digests = [HashType(alg=HashAlgorithm.SHA_256, content=h) for h in HASH.findall(hashes)]
        yield _component(PackageURL("pypi", name=name, version=version), _license(name), digests)


def _ours(wheel: Path) -> Component:
    name, version, *_ = wheel.name.split("-")
    digest = HashType(alg=HashAlgorithm.SHA_256, content=sha256(wheel.read_bytes()).hexdigest())
    url = PackageURL("generic", name=name.replace("_", "-"), version=version)
    return _component(url, SETTINGS["project"]["license"], [digest])


def _bundled() -> Iterator[Component]:
    packages = json.loads((ROOT / "package-lock.json").read_text())["packages"]
    for package in BUNDLED:
        lock: dict[str, Any] = packages[f"node_modules/{package}"]
        algorithm, _, digest = lock["integrity"].partition("-")
        scope, _, name = package.rpartition("/")
        known = HashType(alg=ALGORITHMS[algorithm], content=b64decode(digest).hex())
        url = PackageURL("npm", namespace=scope or None, name=name, version=lock["version"])
        yield _component(url, lock.get("license"), [known])


def _component(
    url: PackageURL,
    terms: str | None,
    hashes: list[HashType],
    kind: ComponentType = ComponentType.LIBRARY,
) -> Component:
    return Component(
        type=kind,
        bom_ref=str(url),
        purl=url,
        group=url.namespace,
        name=url.name,
        version=url.version,
        hashes=hashes,
        licenses=[LicenseFactory().make_from_string(terms)] if terms else [],
    )


def _license(name: str) -> str | None:
    """The license that the installed package declares. Packages for other platforms are not installed."""
    try:
        about = metadata(name)
    except PackageNotFoundError:
        return None
    return next(_declared(about), None)


def _declared(about: PackageMetadata) -> Iterator[str]:
    for field in ("License-Expression", "License"):
        text = str(about[field] or "").strip() if field in about else ""
        if text and len(text) <= MAX_LICENSE and "\n" not in text:
            yield text
    for classifier in about.get_all("Classifier", []):
        if classifier.startswith("License :: "):
            yield classifier.rpartition(" :: ")[2]
