"""Valid messages to send, made valid in what the schema of the contract cannot say.

It cannot say that a list has ten rows in all, that ids and titles are unique, that sections have titles
where there are several, that a message which is answered exists, nor that a file was uploaded.
"""

from typing import Any

from contract_tests.fuzz_live import OWN

MOST_ROWS = 10
LINK = "https://example.com/file"


def make_sensible(body: dict[str, Any]) -> dict[str, Any]:
    """The body, changed as little as it takes."""
    sensible: dict[str, Any] = _with_links(body)
    if "interactive" in sensible:
        action = sensible["interactive"]["action"]
        _number_buttons(action) if "buttons" in action else _number_rows(action)
    return sensible


def answers_another(body: dict[str, Any]) -> bool:
    """Whether the message is a reply or a reaction."""
    return "context" in body or "reaction" in body


def answer_own(body: dict[str, Any]) -> dict[str, Any]:
    """The body as a reply or a reaction to the prepared message, from that message's number."""
    place = "context" if "context" in body else "reaction"
    return body | {
        "number_id": OWN["number"],
        place: body[place] | {"message_id": OWN["message"]},
    }


def _with_links(value: Any) -> Any:
    """Every file by its address: an ``id`` beside nothing but a caption or a name is that of a file."""
    if isinstance(value, list):
        return [_with_links(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {name: _with_links(item) for name, item in value.items()}
    if "id" in made and not made.keys() & {"title", "link"}:
        del made["id"]
        made["link"] = LINK
    return made


def _number_buttons(action: dict[str, Any]) -> None:
    for position, button in enumerate(action["buttons"]):
        reply = button["reply"]
        button["reply"] = {name: f"{position}{text}"[:20] for name, text in reply.items()}


def _number_rows(action: dict[str, Any]) -> None:
    sections = action["sections"]
    for position, section in enumerate(sections):
        section.setdefault("title", "Section")
        section["rows"] = section["rows"][: MOST_ROWS // len(sections)]
        for place, row in enumerate(section["rows"]):
            row["id"] = f"{position}.{place}.{row['id']}"[:200]
