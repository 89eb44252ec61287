"""The processes that hold a port or a file."""

import socket
import subprocess
import sys
from pathlib import Path

from gateway.cli import up_locks

HOLD = """
import socket, sys, time
server = socket.create_server(("127.0.0.1", 0))
file = open(sys.argv[1], "w")
client = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
print(server.getsockname()[1], client.getsockname()[1], flush=True)
time.sleep(60)
"""


def test_another_process_is_found_by_its_ports_and_files(tmp_path: Path) -> None:
    path = tmp_path / "file"
    with (
        socket.create_server(("127.0.0.1", 0)) as server,
        subprocess.Popen(
            [sys.executable, "-c", HOLD, str(path), str(server.getsockname()[1])],
            stdout=subprocess.PIPE,
            text=True,
        ) as other,
    ):
        assert other.stdout is not None
        ports = [int(port) for port in other.stdout.readline().split()]
        assert [up_locks.using_port(port) for port in ports] == [[other.pid], [other.pid]]
        assert up_locks.using_file(path) == [other.pid]
        assert str(other.pid) in up_locks.described([other.pid])
        other.kill()
    assert (up_locks.using_port(ports[0]), up_locks.using_file(path)) == ([], [])


def test_this_process_and_unused_ports_are_not_listed(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        assert up_locks.using_port(port) == []
    assert up_locks.using_port(port) == []
    with (tmp_path / "file").open("w"):
        assert up_locks.using_file(tmp_path / "file") == []
