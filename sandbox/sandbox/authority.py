"""The sandbox's certificate authority, for clients whose API host cannot be changed.

Its key never leaves the data directory. Its certificates are valid for the platform's host only, so a client
that trusts the authority does not accept any other host because of it.
"""

from __future__ import annotations

import os
import ssl
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from sandbox.settings import GRAPH_HOST as HOST

# The longest validity that clients accept. The certificate is renewed at each start.
LEAF_LIFE, AUTHORITY_LIFE = timedelta(days=397), timedelta(days=3650)
# A client's clock may be behind.
LEEWAY = timedelta(days=1)


def certificate_of(data_dir: Path) -> Path:
    """The file that clients have to trust."""
    return data_dir / "tls" / "ca.pem"


def server_context(data_dir: Path) -> ssl.SSLContext:
    """TLS for the platform's host, with the authority of this data directory, created at first use.

    Raises OSError if a file cannot be read or written, ValueError if its content is invalid.
    """
    folder = certificate_of(data_dir).parent
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    chain = folder / "server.pem"
    key, certificate = _authority(data_dir)
    leaf_key = ec.generate_private_key(ec.SECP256R1())
    leaf = _leaf(leaf_key.public_key(), key, certificate)
    _write(chain, _pem(leaf_key) + leaf.public_bytes(serialization.Encoding.PEM))
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(chain)
    return context


def _authority(data_dir: Path) -> tuple[ec.EllipticCurvePrivateKey, x509.Certificate]:
    path = certificate_of(data_dir)
    key_path = path.with_name("ca.key")
    if path.exists():
        key = serialization.load_pem_private_key(key_path.read_bytes(), password=None)
        certificate = x509.load_pem_x509_certificate(path.read_bytes())
        if not isinstance(key, ec.EllipticCurvePrivateKey):
            raise ValueError(f"{key_path} holds another kind of key")
        return key, certificate
    key = ec.generate_private_key(ec.SECP256R1())
    certificate = _self_signed(key)
    # The certificate is written last, so that a certificate always has its key.
    _write(key_path, _pem(key))
    _write(path, certificate.public_bytes(serialization.Encoding.PEM), mode=0o644)
    return key, certificate


def _self_signed(key: ec.EllipticCurvePrivateKey) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Messaging Gateway sandbox")])
    only = x509.NameConstraints(permitted_subtrees=[x509.DNSName(HOST)], excluded_subtrees=None)
    builder = _builder(name, name, key.public_key(), AUTHORITY_LIFE)
    return (
        builder.add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_usage(signs_certificates=True), critical=True)
        .add_extension(only, critical=True)
        .sign(key, hashes.SHA256())
    )


def _leaf(
    public: ec.EllipticCurvePublicKey,
    key: ec.EllipticCurvePrivateKey,
    authority: x509.Certificate,
) -> x509.Certificate:
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, HOST)])
    issuer_key = x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())
    purpose = x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH])
    builder = _builder(name, authority.subject, public, LEAF_LIFE)
    return (
        builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(HOST)]), critical=False)
        .add_extension(_usage(signs_certificates=False), critical=True)
        .add_extension(purpose, critical=False)
        .add_extension(issuer_key, critical=False)
        .sign(key, hashes.SHA256())
    )


def _builder(
    subject: x509.Name, issuer: x509.Name, public: ec.EllipticCurvePublicKey, life: timedelta
) -> x509.CertificateBuilder:
    # Real time: a client compares it with its own clock, not with the network's.
    now = datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(public)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - LEEWAY)
        .not_valid_after(now - LEEWAY + life)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(public), critical=False)
    )


def _usage(*, signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def _write(path: Path, content: bytes, *, mode: int = 0o600) -> None:
    """Write a file whole or not at all, with its mode from the beginning."""
    part = path.with_name(path.name + ".part")
    part.unlink(missing_ok=True)
    with os.fdopen(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_EXCL, mode), "wb") as file:
        file.write(content)
    part.replace(path)
