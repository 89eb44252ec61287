"""A mail server on loopback that stores mails, and refuses on demand."""

import base64
import re
import socketserver
import threading
from email import message_from_bytes
from email.message import EmailMessage
from email.policy import default
from typing import Self

LINK = re.compile(r"https?://[^/\s]+(/\S+)")


class _Session(socketserver.StreamRequestHandler):
    server: "_Server"

    def handle(self) -> None:
        """The part of SMTP that a client needs (RFC 5321)."""
        owner = self.server.owner
        self._say("220 ready")
        recipients: list[str] = []
        while line := self.rfile.readline().decode().strip():
            command, _, rest = line.partition(" ")
            owner.commands.append(command.upper())
            match command.upper():
                case "EHLO" | "HELO":
                    self._say("250-here\r\n250 AUTH PLAIN")
                case "AUTH":
                    owner.logins.append(base64.b64decode(rest.split()[-1]).decode())
                    self._say("535 no" if owner.refuses_logins else "235 welcome")
                case "RCPT":
                    recipients.append(rest.partition("<")[2].partition(">")[0])
                    is_refused = recipients[-1] in owner.refused
                    self._say("550 nobody here" if is_refused else "250 ok")
                case "DATA":
                    self._say("354 go on")
                    owner.take(recipients, self._data())
                    self._say("250 taken")
                case "QUIT":
                    self._say("221 bye")
                    return
                case _:
                    self._say("250 ok")

    def _data(self) -> bytes:
        lines = []
        while (line := self.rfile.readline()) != b".\r\n":
            lines.append(line.removeprefix(b".") if line.startswith(b"..") else line)
        return b"".join(lines)

    def _say(self, text: str) -> None:
        self.wfile.write(f"{text}\r\n".encode())


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = daemon_threads = True
    owner: "MailServer"


class MailServer:
    """``mails`` are those accepted, ``refused`` the recipients to refuse.

    ``commands`` are all received. With ``refuses_logins``, every login fails.
    """

    def __init__(self) -> None:
        self.mails: list[EmailMessage] = []
        self.refused: set[str] = set()
        self.logins: list[str] = []
        self.commands: list[str] = []
        self.refuses_logins = False
        self._server = _Server(("127.0.0.1", 0), _Session)
        self._server.owner = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def url(self, user: str = "") -> str:
        """The server's URL, with the user and password if given."""
        return f"smtp://{user}127.0.0.1:{self._server.server_address[1]}"

    def take(self, recipients: list[str], data: bytes) -> None:
        """Store a mail."""
        mail = message_from_bytes(data, policy=default)
        assert isinstance(mail, EmailMessage)
        assert [mail["To"]] == recipients
        self.mails.append(mail)

    @property
    def link(self) -> str:
        """The path of the link in the newest mail."""
        return _link_in(self.mails[-1])

    def link_to(self, recipient: str) -> str:
        """The path of the link in the newest mail to this recipient."""
        return _link_in([mail for mail in self.mails if mail["To"] == recipient][-1])

    @property
    def subjects(self) -> list[tuple[str, str]]:
        """Recipient and subject of each mail, sorted."""
        return sorted((str(mail["To"]), str(mail["Subject"])) for mail in self.mails)


def _link_in(mail: EmailMessage) -> str:
    found = LINK.search(mail.get_content())
    assert found is not None
    return found[1]
