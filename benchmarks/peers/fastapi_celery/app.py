"""POST /api/messages/send, and its authentication."""

import hashlib
import json
import os
from typing import Annotated, Any, Literal

from fastapi import Depends, FastAPI, Header, HTTPException, Response
from pydantic import BaseModel, ConfigDict, Field
from sqlalchemy import select
from sqlalchemy.orm import Session

from benchmarks.peers.fastapi_celery import limit, network, queue
from benchmarks.peers.fastapi_celery.database import (
    ApiKey,
    Base,
    Delivery,
    Event,
    IdempotencyKey,
    Message,
    Number,
    Webhook,
    engine,
    new_id,
    now,
    one_writer,
    writing_engine,
)

ACCOUNT, SENT = "acc_peer", "message.sent"


class Text(BaseModel):
    """The content."""

    model_config = ConfigDict(extra="forbid")
    body: str = Field(min_length=1, max_length=4096)


class SendRequest(BaseModel):
    """The body of a send."""

    model_config = ConfigDict(extra="forbid")
    number_id: str = Field(max_length=64)
    to: str = Field(pattern=r"^[1-9][0-9]{6,14}$")
    type: Literal["text"]
    text: Text


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _seed() -> None:
    Base.metadata.create_all(writing_engine)
    given = os.environ
    with Session(writing_engine) as session, session.begin():
        session.add(ApiKey(digest=_digest(given["API_KEY"]), account_id=ACCOUNT))
        session.add(
            Number(
                id=given["NUMBER_ID"],
                account_id=ACCOUNT,
                phone_number_id=given["PHONE_NUMBER_ID"],
                access_token=given["ACCESS_TOKEN"],
                status="ACTIVE",
            )
        )
        url = "http://127.0.0.1:9/events"
        session.add(Webhook(id=new_id("wh"), account_id=ACCOUNT, url=url, events=SENT))


_seed()
app = FastAPI()


def account(response: Response, authorization: Annotated[str, Header()]) -> str:
    """The account of the key. Raises an error past its rate limit."""
    with Session(engine) as session:
        key = session.get(ApiKey, _digest(authorization.removeprefix("Bearer ")))
    if key is None:
        raise HTTPException(401)
    headers = limit.count(key.account_id)
    if headers is None:
        raise HTTPException(429)
    response.headers.update(headers)
    return str(key.account_id)


@app.post("/api/messages/send")
def send_message(
    body: SendRequest,
    account_id: Annotated[str, Depends(account)],
    idempotency_key: Annotated[str, Header(min_length=1, max_length=255)],
) -> dict[str, Any]:
    """Store the claim and the message, call the network, store the outcome, enqueue, respond."""
    content = body.model_dump_json()
    number, message_id, known = _claim(account_id, idempotency_key, body, content)
    if known is not None:
        return known
    wa_message_id = network.send(
        number.phone_number_id,
        number.access_token,
        {
            "to": body.to,
            "type": body.type,
            "text": body.text.model_dump(),
            "biz_opaque_callback_data": message_id,
        },
    )
    answer = {"id": message_id, "waMessageId": wa_message_id, "status": "sent"}
    for delivery_id in _record(account_id, message_id, wa_message_id, answer):
        queue.deliver.delay(delivery_id)
    return answer


def _claim(
    account_id: str, key: str, body: SendRequest, content: str
) -> tuple[Number, str, dict[str, Any] | None]:
    """The number, the identifier of the new message, and the key's stored response if there is one."""
    with Session(engine, expire_on_commit=False) as session:
        number = session.get(Number, body.number_id)
    if number is None or number.account_id != account_id:
        raise HTTPException(404)
    if number.status != "ACTIVE":
        raise HTTPException(409)
    fingerprint = _digest(content)
    mine = select(IdempotencyKey).where(
        IdempotencyKey.account_id == account_id, IdempotencyKey.key == key
    )
    with one_writer, Session(writing_engine, expire_on_commit=False) as session, session.begin():
        known = session.scalars(mine).first()
        if known is not None:
            return number, known.message_id, _answer_of(known, fingerprint)
        message_id = new_id("msg")
        session.add(
            Message(
                id=message_id,
                account_id=account_id,
                number_id=number.id,
                to=body.to,
                body=content,
                status="pending",
                created_at=now(),
            )
        )
        # The claim refers to the message, so the message comes first.
        session.flush()
        session.add(
            IdempotencyKey(
                account_id=account_id,
                key=key,
                fingerprint=fingerprint,
                message_id=message_id,
                created_at=now(),
            )
        )
    return number, message_id, None


def _answer_of(known: IdempotencyKey, fingerprint: str) -> dict[str, Any]:
    if known.fingerprint != fingerprint or known.response is None:
        raise HTTPException(409)
    answer: dict[str, Any] = json.loads(known.response)
    return answer


def _record(
    account_id: str, message_id: str, wa_message_id: str, answer: dict[str, Any]
) -> list[str]:
    """Store the outcome, its event, the deliveries and the response in one transaction."""
    with one_writer, Session(writing_engine) as session, session.begin():
        message = session.get_one(Message, message_id)
        message.status, message.wa_message_id = "sent", wa_message_id
        claim = select(IdempotencyKey).where(IdempotencyKey.message_id == message_id)
        session.scalars(claim).one().response = json.dumps(answer)
        event = Event(
            id=new_id("evt"),
            account_id=account_id,
            kind=SENT,
            message_id=message_id,
            payload=_payload(message),
            created_at=now(),
        )
        session.add(event)
        session.flush()
        webhooks = session.scalars(select(Webhook).where(Webhook.account_id == account_id))
        deliveries = [
            Delivery(
                id=new_id("dlv"),
                webhook_id=webhook.id,
                event_id=event.id,
                state="pending",
                created_at=now(),
            )
            for webhook in webhooks
            if SENT in webhook.events.split(",")
        ]
        session.add_all(deliveries)
        return [delivery.id for delivery in deliveries]


def _payload(message: Message) -> str:
    data = {
        "id": message.id,
        "numberId": message.number_id,
        "toNumber": message.to,
        "body": json.loads(message.body)["text"],
        "status": message.status,
        "waMessageId": message.wa_message_id,
        "createdAt": message.created_at,
    }
    return json.dumps({"event": SENT, "timestamp": now(), "data": data})
