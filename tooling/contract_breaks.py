"""Compares openapi.yaml with the one of the latest release and prints each breaking change.

``contract_tests/releases`` has the contract of each release. ``make breaks`` runs this as
``python -m tooling.contract_breaks``. It fails if there is no such contract.
CONTRIBUTING.md lists what is a breaking change.
A new major version may break clients; the changes are then printed and accepted.
"""

import sys
from pathlib import Path

import yaml

from tooling import contract_names
from tooling.contract_operations import Operations
from tooling.contract_rules import Node
from tooling.contract_schemas import BrokenReferenceError

ROOT = Path(__file__).resolve().parents[1]
RELEASES = ROOT / "contract_tests" / "releases"
SUFFIX = ".openapi.yaml"


class UnreadableContractError(Exception):
    """A contract that the comparison needs does not exist or cannot be read."""


def breaks(old: Node, new: Node) -> list[str]:
    """One line for each breaking change: its JSON pointer and a description."""
    found = [*contract_names.breaks(old, new), *Operations(old, new).breaks()]
    return list(dict.fromkeys(f"{place}: {what}" for place, what in found))


def latest_release(folder: Path) -> Path:
    """The contract of the latest release. Raises UnreadableContractError without one."""
    found = [path for path in folder.glob(f"*{SUFFIX}") if _version(path)]
    if not found:
        raise UnreadableContractError(
            f"{folder} has no contract of a release, such as 1.0.0{SUFFIX}. Restore it from git."
        )
    return max(found, key=_version)


def _version(path: Path) -> list[int]:
    """The version in the name of a frozen contract, empty for other names."""
    numbers = path.name.removesuffix(SUFFIX).split(".")
    return [int(number) for number in numbers] if all(map(str.isdigit, numbers)) else []


def read(path: Path) -> Node:
    """A contract. Raises UnreadableContractError if the file has none."""
    try:
        contract = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)
    except (OSError, ValueError, yaml.YAMLError) as error:
        reason = str(error).splitlines()[0]
        raise UnreadableContractError(f"{path} cannot be read: {reason}.") from error
    if not (isinstance(contract, dict) and contract.get("paths") and contract.get("info")):
        raise UnreadableContractError(f"{path} has no paths or no info, so it is no contract.")
    return contract


def _major(contract: Node) -> int:
    return int(contract["info"]["version"].split(".")[0])


def main(contract: Path = ROOT / "openapi.yaml", releases: Path = RELEASES) -> int:
    """Print the breaking changes. Returns the exit status."""
    try:
        release = latest_release(releases)
        old, new = read(release), read(contract)
        found = breaks(old, new)
    except (UnreadableContractError, BrokenReferenceError) as error:
        print(f"Error: {error}", file=sys.stderr)
        return 2
    version = release.name.removesuffix(SUFFIX)
    print("\n".join([*found, f"Breaking changes since {version}: {len(found)}."]))
    return int(bool(found) and _major(new) <= _major(old))


if __name__ == "__main__":
    sys.exit(main())
