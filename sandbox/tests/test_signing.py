"""The bytes of callbacks, against known vectors."""

import json

from sandbox.signing import encode, signature

SECRET = "test-app-secret"
VECTOR_1 = {
    "object": "whatsapp_business_account",
    "entry": [
        {
            "id": "102290129340398",
            "changes": [
                {
                    "value": {
                        "messaging_product": "whatsapp",
                        "metadata": {
                            "display_phone_number": "15550783881",
                            "phone_number_id": "106540352242922",
                        },
                        "statuses": [
                            {
                                "id": "wamid.TEST",
                                "status": "delivered",
                                "timestamp": "1750030073",
                                "recipient_id": "16505551234",
                            }
                        ],
                    },
                    "field": "messages",
                }
            ],
        }
    ],
}


def test_a_plain_body_has_the_known_bytes_and_signature() -> None:
    body = encode(VECTOR_1)
    assert len(body) == 341
    assert signature(body, SECRET) == (
        "sha256=8e136c3fff3a2384785850824026c709b891229ecd68cf67e7c2ed1b8e147910"
    )


def test_escapes_are_part_of_what_is_signed() -> None:
    body = encode({"text": "ol\u00e1 / caf\u00e9"})
    assert body == rb'{"text":"ol\u00e1 \/ caf\u00e9"}'
    assert signature(body, SECRET) == (
        "sha256=5ddc8ec6ad165bad7f2d25d48656abbc9fb36bb0f509a9ea00ece7f44d0d198b"
    )


def test_the_signature_covers_bytes_not_meaning() -> None:
    reserialised = '{"text":"ol\u00e1 / caf\u00e9"}'.encode()
    assert json.loads(reserialised) == json.loads(encode({"text": "ol\u00e1 / caf\u00e9"}))
    assert signature(reserialised, SECRET) == (
        "sha256=6e597a1b0ad181d7138790f2334a84ebffce26147fdb0649e9ed5b9f18237eae"
    )


def test_backslashes_and_astral_characters_survive() -> None:
    value = {"text": "\\/ \\\\ \U0001f600 \ud800"}
    assert json.loads(encode(value)) == value
