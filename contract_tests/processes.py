"""What the kernel tells of other processes."""

from pathlib import Path


def children_of(parent: int) -> list[int]:
    """The processes that this one started and that nobody has reaped."""
    listed = Path(f"/proc/{parent}/task/{parent}/children").read_text()
    return [int(pid) for pid in listed.split()]


def is_alive(pid: int) -> bool:
    """Whether a process runs. One that only waits to be reaped does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
