"""Contact cards."""

from __future__ import annotations

from sandbox.contents.validators import array, fields, matching, text

LINE = text(512)
KIND = text(64)
NAME = fields(
    {"formatted_name": LINE},
    dict.fromkeys(("first_name", "last_name", "middle_name", "prefix", "suffix"), LINE),
)
ADDRESS = fields(
    {},
    {
        **dict.fromkeys(("street", "city", "state", "zip", "country", "country_code"), LINE),
        "type": KIND,
    },
)
# Clients send an empty array for none.
CONTACT = fields(
    {"name": NAME},
    {
        "phones": array(
            fields(
                {"phone": text(64)},
                {"type": KIND, "wa_id": matching(r"[1-9][0-9]{6,14}", "a phone number in digits")},
            ),
            50,
            least=0,
        ),
        "emails": array(fields({"email": text(320)}, {"type": KIND}), 50, least=0),
        "addresses": array(ADDRESS, 50, least=0),
        "org": fields({}, dict.fromkeys(("company", "department", "title"), LINE)),
        "urls": array(fields({"url": text(8192)}, {"type": KIND}), 50, least=0),
        "birthday": matching(r"[0-9]{4}-[0-9]{2}-[0-9]{2}", "a date, YYYY-MM-DD"),
    },
)
CONTACTS = array(CONTACT, 257)
