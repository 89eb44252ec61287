"""The compiled SDK for TypeScript, and the programs that import it."""

from pathlib import Path

from contract_tests.clients.toolbox import NODE_MODULES, copy_program, run

PACKAGE = "@messaging-gateway/client"


def installed(sdk: Path, folder: Path, *others: str) -> Path:
    """Add a node_modules to ``folder`` with the SDK, the types of Node.js, and other locked packages."""
    for name, target in {
        PACKAGE: sdk,
        **{other: NODE_MODULES / other for other in ("@types/node", "undici-types", *others)},
    }.items():
        link = folder / "node_modules" / name
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(target)
    return folder


def program(sdk: Path, folder: Path) -> Path:
    """The programs of sdk_typescript in a new folder, beside the SDK."""
    return installed(sdk, copy_program("sdk_typescript", folder))


def compiled(folder: Path) -> str:
    """The findings of the compiler in a program. Without findings it is compiled to ``out``."""
    done = run("tsc", "--project", ".", cwd=folder)
    return "" if done.returncode == 0 else done.stdout
