"""The kernel's data on other processes."""

from pathlib import Path


def children_of(parent: int) -> list[int]:
    """The child processes of this process that have not been reaped."""
    listed = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [int(pid) for pid in listed.split()]


def is_alive(pid: int) -> bool:
    """Whether a process runs. A zombie does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
