"""The served contract has the addresses of this gateway."""

import orjson
import pytest
import yaml

from gateway.api import contract


@pytest.mark.parametrize("slash", ["", "/"])
def test_the_served_contract_leads_to_this_gateway(slash: str) -> None:
    public = "https://api.example.org/gateway"
    text, as_json = contract.served(public + slash)
    served = orjson.loads(as_json)
    assert yaml.safe_load(text) == served
    variables = served["servers"][0]["variables"]
    defaults = {name: variable["default"] for name, variable in variables.items()}
    assert defaults == {"scheme": "https", "host": "api.example.org/gateway"}
    assert served["info"]["contact"]["url"] == f"{public}/"
    assert served["externalDocs"]["url"] == f"{public}/api/docs/"


def test_the_contract_keeps_its_identity() -> None:
    """Catalogues of APIs recognize the API by it under another title or address."""
    assert contract.load()["info"]["x-api-id"] == "a3a59c53-153a-4d52-bc71-3bc50c56d362"
