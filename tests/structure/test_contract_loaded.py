"""What Connexion makes of the contract. It does not validate it at each start."""

import json
import pkgutil
from copy import deepcopy

from connexion.spec import Specification, create_spec_validator

from gateway.api import contract

SCHEMA = json.loads(pkgutil.get_data("connexion", "resources/schemas/v3.0/schema.json") or b"")


def test_the_contract_and_its_defaults_are_valid_for_connexion() -> None:
    described = contract.load()
    create_spec_validator(described)(SCHEMA).validate(described)


def test_a_contract_that_is_not_valid_is_noticed_here() -> None:
    described = deepcopy(contract.load())
    described["paths"]["/numbers"]["get"]["responses"] = []
    assert not create_spec_validator(described)(SCHEMA).is_valid(described)


def test_connexion_leaves_the_contract_as_it_was_read() -> None:
    before = deepcopy(contract.load())
    Specification.load(contract.load())
    assert contract.load() == before
