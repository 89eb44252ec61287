"""What tests of the pages of broadcasts share: a template that is approved, and lists of recipients."""

from urllib.parse import urlencode

from contract_tests.harness import Customer, Gateway, wait_for

NAME = "spring_offer"
PEOPLE = "phone,first name,discount\n15551234501,Ana,10 %\n15551234502,Ben,20 %\n"


def approve_template(owner: Customer) -> None:
    """Create a marketing template with two values, a footer and a button, and wait for its approval."""
    text = {
        "type": "BODY",
        "text": "Hello {{1}}, spring is here. Take {{2}} off.",
        "example": {"body_text": [["Ana", "10 %"]]},
    }
    button = {"type": "URL", "text": "Shop", "url": "https://example.com/spring"}
    parts = [
        text,
        {"type": "FOOTER", "text": "Reply STOP to opt out"},
        {"type": "BUTTONS", "buttons": [button]},
    ]
    made = {"name": NAME, "language": "en_US", "category": "MARKETING", "components": parts}
    path = f"/numbers/{owner.number['id']}/templates"
    owner.request("POST", path, json=made)

    def is_approved() -> bool:
        query = f"{path}?name={NAME}&status=APPROVED"
        return bool(owner.request("GET", query).json()["data"])

    wait_for(is_approved, "the approval")


def uploaded(gateway: Gateway, owner: Customer, text: str = PEOPLE) -> str:
    """Upload a list. Returns the end of the URL of its page, with the choices before it."""
    files = {"file": ("customers.csv", text.encode())}
    file_id = owner.request("POST", "/broadcasts/files", files=files).json()["id"]
    return f"{file_id}?{urlencode(choices(gateway, owner))}"


def choices(gateway: Gateway, owner: Customer) -> dict[str, str]:
    """The fields of the first step."""
    query = "SELECT id FROM template WHERE account_id = ? AND name = ?"
    [(template_id,)] = gateway.stored.rows(query, owner.account_id, NAME)
    return {"number_id": owner.number["id"], "template": template_id}
