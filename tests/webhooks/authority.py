"""A certificate authority for tests, and a TLS receiver with its certificates."""

import datetime as dt
import ssl
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.receiver import Receiver

DAY = dt.timedelta(days=1)


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _subject(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


class Authority:
    """Signs certificates for host names and addresses. The servers' keys are stored in ``folder``."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._certificate = (
            _builder("Test CA", "Test CA", self._key.public_key())
            .not_valid_before(dt.datetime.now(dt.UTC) - 2 * DAY)
            .not_valid_after(dt.datetime.now(dt.UTC) + DAY)
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .sign(self._key, hashes.SHA256())
        )

    def client_context(self) -> ssl.SSLContext:
        """Trusts this authority and no other."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_verify_locations(
            cadata=self._certificate.public_bytes(serialization.Encoding.PEM).decode()
        )
        return context

    def bundle(self) -> Path:
        """A file with the authority's certificate, for SSL_CERT_FILE."""
        path = self._folder / "authority.pem"
        path.write_bytes(self._certificate.public_bytes(serialization.Encoding.PEM))
        return path

    def server_context(
        self,
        host: str,
        *,
        begins_in: dt.timedelta = -2 * DAY,
        ends_in: dt.timedelta = DAY,
        self_signed: bool = False,
    ) -> ssl.SSLContext:
        """A server's context with a certificate for ``host``, a name or an IP address."""
        key = ec.generate_private_key(ec.SECP256R1())
        certificate = (
            _builder(host, host if self_signed else "Test CA", key.public_key())
            .not_valid_before(dt.datetime.now(dt.UTC) + begins_in)
            .not_valid_after(dt.datetime.now(dt.UTC) + ends_in)
            .add_extension(x509.SubjectAlternativeName([_subject(host)]), critical=False)
            .sign(key if self_signed else self._key, hashes.SHA256())
        )
        path = self._folder / f"{certificate.serial_number}.pem"
        path.write_bytes(_pem(key) + certificate.public_bytes(serialization.Encoding.PEM))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(path)
        return context


def _builder(subject: str, issuer: str, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(_name(subject))
        .issuer_name(_name(issuer))
        .public_key(key)
        .serial_number(x509.random_serial_number())
    )


class TlsReceiver(Receiver):
    """A customer's HTTPS server on loopback. ``asked_for`` are the names of SNI, in order."""

    def __init__(self, context: ssl.SSLContext, address: str = "127.0.0.1", port: int = 0) -> None:
        self.asked_for: list[str | None] = []
        context.sni_callback = self._note
        super().__init__(address, context, port)

    def _note(self, _: ssl.SSLObject, name: str | None, __: ssl.SSLContext) -> None:
        self.asked_for.append(name)

    def url(self, path: str = "/hook", host: str = "hook.example") -> str:
        """The address of a path."""
        return f"https://{host}:{self.port}{path}"
