"""The table of bad inputs: every kind, where it applies, and the right response."""

from contract_tests import (
    bad_addresses,
    bad_bodies,
    bad_fields,
    bad_forms,
    bad_headers,
    bad_protocol,
)

KINDS = [
    *bad_protocol.KINDS,
    *bad_addresses.KINDS,
    *bad_headers.KINDS,
    *bad_bodies.KINDS,
    *bad_fields.KINDS,
    *bad_forms.KINDS,
]
FIELDS = bad_fields.KINDS
