"""nginx on loopback with a shipped configuration: ``with Nginx(text, upstream) as proxy``."""

import http.client
import re
import shutil
import socket
import ssl
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Self

from contract_tests.raw_http import Answer
from contract_tests.server_process import HOST, Server
from contract_tests.waiting import WAIT_SECONDS, free_port

# An address of the machine that is not a trusted proxy's.
STRANGER = "127.0.0.2"
PROGRAM = "nginx"
# The parts of Debian's nginx.conf around the files of conf.d.
AROUND = """
user root;
worker_processes 1;
daemon off;
pid {folder}/nginx.pid;
error_log stderr;
events {{}}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    {shipped}
}}
"""


class Nginx(Server):
    """A proxy for the web part at the port ``upstream``, with the configuration ``shipped``."""

    def __init__(self, shipped: str, upstream: int) -> None:
        super().__init__("nginx")
        self._shipped = shipped
        self._upstream = upstream
        self._plain_port = free_port()

    @property
    def certificate(self) -> Path:
        """The certificate that its clients trust."""
        return self.folder / "fullchain.pem"

    def start(self) -> Self:
        """As for every server, with a separate certificate."""
        key = self.folder / "privkey.pem"
        make = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        name = ["-subj", "/CN=localhost", "-addext", f"subjectAltName=IP:{HOST}"]
        files = ["-keyout", str(key), "-out", str(self.certificate)]
        subprocess.run(["openssl", *make, *name, *files], check=True, capture_output=True)
        shipped = self._shipped
        for pattern, replacement in self._places().items():
            shipped = re.sub(pattern, replacement, shipped, flags=re.MULTILINE)
        text = AROUND.format(folder=self.folder, shipped=shipped)
        (self.folder / "nginx.conf").write_text(text)
        return super().start()

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: Mapping[str, str] | None = None,
        source: str = STRANGER,
    ) -> Answer:
        """A request over TLS from an address of this machine."""
        context = ssl.create_default_context(cafile=str(self.certificate))
        connection = http.client.HTTPSConnection(
            HOST, self.port, context=context, timeout=WAIT_SECONDS, source_address=(source, 0)
        )
        with closing(connection):
            connection.request(method, path, body, headers or {})
            answer = connection.getresponse()
            told = {name.lower(): value for name, value in answer.getheaders()}
            return Answer(answer.status, told, answer.read())

    def _places(self) -> dict[str, str]:
        """The values of this machine for the placeholders of the configuration, by pattern."""
        return {
            r"^ *listen \[.*\n": "",
            r"listen 80;": f"listen {HOST}:{self._plain_port};",
            r"listen 443 ": f"listen {HOST}:{self.port} ",
            r"127\.0\.0\.1:8080": f"{HOST}:{self._upstream}",
            r"/etc/ssl/gateway/|/var/log/nginx/": f"{self.folder}/",
        }

    def _command(self) -> Sequence[str | Path]:
        program = shutil.which(PROGRAM) or f"/usr/sbin/{PROGRAM}"
        return [program, "-p", self.folder, "-e", "stderr", "-c", self.folder / "nginx.conf"]

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex((HOST, self.port)) == 0
