"""Errors of this machine, which are no failures of a receiver."""

import errno
import ssl

# The fixed words name the cause in log lines and metrics.
DESCRIPTORS, MEMORY, PORTS, NETWORK = "descriptors", "memory", "ports", "network"
FIREWALL, RESOLVER, TRUST, THREADS = "firewall", "resolver", "trust", "threads"
HINTS = {
    DESCRIPTORS: "no file descriptors are left; raise the limit (LimitNOFILE, ulimit -n)",
    MEMORY: "no memory is left",
    PORTS: "no local ports are left",
    NETWORK: "this machine has no route to the internet",
    FIREWALL: "a firewall of this machine forbids the connection",
    RESOLVER: "no name server responds",
    TRUST: "the certificate authorities of this machine cannot be read",
    THREADS: "no thread can be started",
}
_BY_ERRNO = {
    errno.EMFILE: DESCRIPTORS,
    errno.ENFILE: DESCRIPTORS,
    errno.ENOMEM: MEMORY,
    errno.ENOBUFS: MEMORY,
    errno.EADDRNOTAVAIL: PORTS,
    errno.EAGAIN: PORTS,
    errno.ENETDOWN: NETWORK,
    errno.EPERM: FIREWALL,
    errno.EACCES: FIREWALL,
}


class MachineError(Exception):
    """Something is missing on this machine. ``cause`` is a key of HINTS."""

    def __init__(self, cause: str) -> None:
        super().__init__(HINTS[cause])
        self.cause = cause


def cause_of(error: BaseException) -> str | None:
    """The cause if an error is one of this machine. Errors of other hosts, or in doubt, have none."""
    if isinstance(error, MachineError):
        return error.cause
    if isinstance(error, MemoryError):
        return MEMORY
    if isinstance(error, RuntimeError) and "start new thread" in str(error):
        return THREADS
    # The numbers of errors of TLS are OpenSSL's.
    if not isinstance(error, OSError) or isinstance(error, ssl.SSLError):
        return None
    return _BY_ERRNO.get(error.errno or 0)
