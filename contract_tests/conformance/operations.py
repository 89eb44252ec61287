"""All operations of the contract, for tests of rules that apply to each of them."""

from dataclasses import dataclass
from typing import Any

from contract_tests.contract import load_contract

VERBS = ("delete", "get", "patch", "post", "put")


@dataclass(frozen=True)
class Operation:
    """One operation, with its path parameters."""

    id: str
    method: str
    path: str
    is_public: bool
    has_body: bool
    takes_form: bool

    def filled(self, **values: str) -> str:
        """The path with its parameters filled in. Unknown ones get ``nothing``."""
        names = (
            "number_id",
            "message_id",
            "webhook_id",
            "delivery_id",
            "contact_id",
            "suppression_id",
            "broadcast_id",
            "file_id",
            "slug",
            "template_id",
            "person",
        )
        return self.path.format(**dict.fromkeys(names, "nothing") | values)


def _read(contract: dict[str, Any]) -> list[Operation]:
    return [
        Operation(
            id=operation["operationId"],
            method=verb.upper(),
            path=path,
            is_public=operation.get("security") == [],
            has_body="application/json" in operation.get("requestBody", {}).get("content", {}),
            takes_form="multipart/form-data" in operation.get("requestBody", {}).get("content", {}),
        )
        for path, item in contract["paths"].items()
        for verb, operation in item.items()
        if verb in VERBS
    ]


OPERATIONS = _read(load_contract())
PROTECTED = [o for o in OPERATIONS if not o.is_public]
PUBLIC = [o for o in OPERATIONS if o.is_public]
WITH_BODY = [o for o in OPERATIONS if o.has_body]


def name_of(operation: Operation) -> str:
    """The identifier of the operation in parametrized tests."""
    return operation.id
