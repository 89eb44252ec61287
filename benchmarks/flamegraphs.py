"""``make flamegraphs``: profiles web and worker under whole lives of messages, on SQLite.

py-spy samples both under load for BENCH_SECONDS=30, and writes docs/flamegraphs/web.svg and worker.svg. A
sample counts only the thread that holds the GIL, so the graphs do not show waiting threads.
"""

import os
import subprocess
import tempfile
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from benchmarks import life
from benchmarks.load import drive
from benchmarks.services import PEERS_PYTHON, ROOT, Parts, parts

SECONDS = int(os.environ.get("BENCH_SECONDS", "30"))
RATE = float(os.environ.get("BENCH_LIFE_RATE", "50"))
LOOKS_A_SECOND = 100
FOLDER = ROOT / "docs/flamegraphs"
DRAWN = ("web", "worker")


def main() -> None:
    """Draw both."""
    FOLDER.mkdir(exist_ok=True)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        receiver, _ = stack.enter_context(life.receiver_process())
        gateway = stack.enter_context(parts(folder, *life.PARTS))
        load = replace(life.make_load(gateway, receiver), rate=RATE, seconds=SECONDS)
        # Warm up until the worker is running.
        drive(replace(load, seconds=life.WARM_UP))
        recorders = [_record(gateway, part) for part in DRAWN]
        drive(load)
        for recorder in recorders:
            if recorder.wait() != 0:
                raise SystemExit("py-spy failed; it needs root to sample other processes.")


def _record(gateway: Parts, part: str) -> "subprocess.Popen[bytes]":
    options = {
        "--pid": str(gateway.processes[part].pid),
        "--rate": str(LOOKS_A_SECOND),
        "--duration": str(round(life.WARM_UP) + SECONDS),
        "--output": str((FOLDER / f"{part}.svg").relative_to(ROOT)),
    }
    flags = ["--gil", "--function", "--format", "flamegraph"]
    # py-spy writes its command into the graph, so the command must not contain absolute paths.
    command = [str(PEERS_PYTHON.with_name("py-spy").relative_to(ROOT)), "record", *flags]
    return subprocess.Popen(
        [*command, *(word for pair in options.items() for word in pair)], cwd=ROOT
    )


if __name__ == "__main__":
    main()
