"""Prepared queries give the same rows as queries built for each call."""

import pytest
from peewee import DoesNotExist

from models.accounts.account import Account
from models.database import Prepared, is_in, reading, writing
from models.deliveries.webhook import Webhook
from models.messages.message import Message
from models.numbers.number import Number


def test_rows_are_those_of_the_query_in_every_field(account: Account) -> None:
    """Booleans too, which SQLite stores as numbers."""
    webhook = Webhook.register(account.id, "https://example.com", ["message.sent"], [])
    prepared = Prepared(lambda wanted: Webhook.select().where(Webhook.id == wanted), Webhook)
    with reading():
        [row], plain = prepared.execute(webhook.id), Webhook.get(Webhook.id == webhook.id)
        assert prepared.first("wh_unknown") is None
    assert row.__data__ == plain.__data__
    assert row.active is True
    assert row.slow is False


def test_constants_and_values_each_find_their_place(account: Account) -> None:
    for plan in ("starter", "pro", "starter"):
        Account.open(f"on {plan}", plan)
    update = Prepared(
        lambda name, plan: Account.update(name=name, created_at=7).where(
            Account.created_at > 7, Account.plan == plan
        )
    )
    with writing():
        assert update.execute("changed", "starter").count == 2
        assert update.execute("changed", "starter").count == 0
    changed = {(row.name, row.created_at) for row in Account.all() if row.plan == "starter"}
    assert changed == {("changed", 7)}
    assert Account.get_by_id(account.id).name != "changed"


@pytest.mark.parametrize("count", [0, 1, 3])
def test_a_list_of_any_length_fills_one_slot(account: Account, count: int) -> None:
    ids = [Account.open("first", "pro").id for _ in range(count)]
    find = Prepared(lambda ids: Account.select().where(is_in(Account.id, ids)), Account)
    rename = Prepared(lambda ids, name: Account.update(name=name).where(is_in(Account.id, ids)))
    with writing():
        assert rename.execute(ids, 'by "quotes", {braces}, \\').count == count
        assert sorted(row.id for row in find.execute([*ids, *ids, '"', "{},"])) == sorted(ids)
    assert Account.get_by_id(account.id).name == account.name


def test_a_row_is_found_by_its_key_or_not_at_all(account: Account) -> None:
    found = Account.by_id(account.id)
    assert found is not None
    unset = ("suspended_at", "two_factor_since", "languages_text", "sealed_salt", "stop_answer")
    assert found.__data__ == account.__data__ | dict.fromkeys(unset)
    assert Account.by_id("acc_unknown") is None
    with pytest.raises(DoesNotExist, match="acc_unknown"):
        Account.get_by_id("acc_unknown")


def test_a_row_is_written_with_its_defaults(number: Number) -> None:
    """A row can stand for its key."""
    with writing():
        message = Message.write_outbound(
            number, "15551230000", "text", {"body": "x"}, contact_id="ctc_1"
        )
        Message.create(once=True, **(message.__data__ | {"id": "msg_2", "wa_message_id": "a"}))
        Message.create(once=True, **(message.__data__ | {"id": "msg_2", "wa_message_id": "b"}))
    assert Message.get_by_id("msg_2").wa_message_id == "a"
    stored = Message.get_by_id(message.id)
    assert stored.__data__ == message.__data__ | {
        "wa_message_id": None,
        "error_code": None,
        "error_message": None,
        "changed_at": None,
        "acceptance": None,
        "errors_json": None,
        "pricing_json": None,
        "pricing_status": None,
        "broadcast_id": None,
        "network_at": None,
        "origin": None,
        "is_placeholder": None,
        "is_backdated": None,
        "group_id": None,
        "opens_window": None,
        "change": None,
        "edited_at": None,
        "edit_id": None,
        "deleted_at": None,
    }
