"""Webhooks: subscriptions, secrets and the count of discarded events."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from contract_tests.stored import Stored
from models.accounts import secret
from models.accounts.account import Account
from models.database import queries, writing
from models.database.postgresql import LostError
from models.deliveries.webhook import Deactivation, Webhook, note_success
from tests import factories
from tests.conftest import Clock

DAY_MS = 24 * 60 * 60 * 1000


def test_a_secret_has_its_prefix_and_32_random_bytes(account: Account) -> None:
    first, second = factories.webhook(account), factories.webhook(account)
    assert first.secret.startswith("whsec_")
    assert len(base64.b64decode(first.secret.removeprefix("whsec_"), validate=True)) == 32
    assert first.secret != second.secret


def test_a_masked_secret_shows_its_last_four_characters_only(account: Account) -> None:
    webhook = factories.webhook(account)
    assert webhook.masked_secret == f"whsec_****{webhook.secret[-4:]}"


def test_a_rotated_secret_replaces_the_old_one_at_once(account: Account) -> None:
    webhook = factories.webhook(account)
    loaded_before = Webhook.by_id(webhook.id)
    old = webhook.secret
    webhook.rotate_secret()
    reloaded = Webhook.by_id(webhook.id)
    assert reloaded is not None
    assert loaded_before is not None
    assert reloaded.secret == webhook.secret != old


def test_a_rotation_is_dated_and_a_first_secret_is_not(account: Account, clock: Clock) -> None:
    webhook = factories.webhook(account)
    assert Webhook.get_by_id(webhook.id).secret_changed_at is None
    for _ in range(2):
        clock.advance(hours=1)
        webhook.rotate_secret()
        rows = (webhook, Webhook.get_by_id(webhook.id))
        assert [row.secret_changed_at for row in rows] == [clock.at, clock.at]


def test_the_previous_secret_signs_beside_the_new_one_for_24_hours(
    account: Account, clock: Clock
) -> None:
    webhook = factories.webhook(account)
    old = webhook.secret
    assert webhook.secrets_at(clock.at) == [old]
    webhook.rotate_secret()
    for row in (webhook, Webhook.get_by_id(webhook.id)):
        assert row.secrets_at(clock.at) == [webhook.secret, old]
        assert row.secrets_at(clock.at + DAY_MS - 1) == [webhook.secret, old]
        assert row.secrets_at(clock.at + DAY_MS) == [webhook.secret]


def test_a_second_rotation_keeps_the_last_previous_secret_only(
    account: Account, clock: Clock
) -> None:
    webhook = factories.webhook(account)
    webhook.rotate_secret()
    second = webhook.secret
    clock.advance(hours=1)
    webhook.rotate_secret()
    assert webhook.secrets_at(clock.at) == [webhook.secret, second]
    assert webhook.secrets_at(clock.at + DAY_MS - 1) == [webhook.secret, second]


def test_a_rotation_whose_connection_was_lost_keeps_the_secret_that_receivers_have(
    account: Account, monkeypatch: pytest.MonkeyPatch
) -> None:
    webhook = factories.webhook(account)
    shared, losses = webhook.secret, [LostError]

    @contextmanager
    def losing() -> Iterator[None]:
        with writing():
            yield
            while losses:
                raise losses.pop()

    monkeypatch.setattr(queries, "writing", losing)
    webhook.rotate_secret()
    assert shared in webhook.secrets_at(webhook.secret_changed_at or 0)
    assert not losses


def test_a_secret_that_cannot_be_read_is_not_kept_when_it_is_rotated(
    account: Account, clock: Clock
) -> None:
    """Otherwise nothing could be signed until the overlap is over."""
    webhook = factories.webhook(account)
    secret.use_keys("another key")
    webhook.rotate_secret()
    assert webhook.secrets_at(clock.at) == [webhook.secret]


def test_the_plain_secret_is_nowhere_in_the_database(account: Account, state: Stored) -> None:
    webhook = factories.webhook(account)
    plain = [webhook.secret]
    webhook.rotate_secret()
    plain.append(webhook.secret)
    stored = state.everything()
    assert webhook.sealed_secret.encode() in stored
    assert str(webhook.previous_sealed_secret).encode() in stored
    for text in plain:
        assert text.encode() not in stored
        assert text.removeprefix("whsec_").encode() not in stored


def test_a_secret_sealed_with_another_key_is_told_apart(account: Account) -> None:
    webhook = factories.webhook(account)
    secret.use_keys("another key")
    with pytest.raises(secret.SecretUnreadableError, match="GATEWAY_SECRET_KEY"):
        _ = webhook.secret


@pytest.mark.usefixtures("state")
def test_the_same_text_is_sealed_differently_each_time() -> None:
    assert secret.encrypt("text") != secret.encrypt("text")


def test_a_webhook_wants_its_kinds_for_its_numbers(account: Account) -> None:
    everything = factories.webhook(account, events=["message.sent"])
    filtered = factories.webhook(account, events=["message.sent"], number_ids=["num_1"])
    assert everything.wants("message.sent", "num_2")
    assert not everything.wants("message.read", "num_2")
    assert filtered.wants("message.sent", "num_1")
    assert not filtered.wants("message.sent", "num_2")
    assert not filtered.wants("message.read", "num_1")


def test_an_update_keeps_the_fields_that_it_omits(account: Account) -> None:
    webhook = factories.webhook(account, events=["message.sent"], number_ids=["num_1"])
    with writing():
        webhook.change(number_ids=[])
    stored = Webhook.get_by_id(webhook.id)
    assert (stored.url, stored.events, stored.number_ids) == (webhook.url, ["message.sent"], [])
    assert webhook.number_ids == []


def test_disabling_records_the_time_and_enabling_resets_the_count(
    account: Account, clock: Clock
) -> None:
    webhook = factories.webhook(account)
    with writing():
        assert [Webhook.note_discarded(webhook.id) for _ in range(3)] == [1, 2, 3]
        webhook.deactivate()
    stored = Webhook.get_by_id(webhook.id)
    assert (stored.active, stored.deactivated_at) == (False, clock.at)
    with writing():
        Webhook.note_discarded(webhook.id)
        stored.activate()
    stored = Webhook.get_by_id(webhook.id)
    assert (stored.active, stored.deactivated_at, stored.failure_count) == (True, None, 0)


def test_the_reason_of_a_disabled_webhook_is_kept_until_it_is_enabled(account: Account) -> None:
    requested, failing = factories.webhook(account), factories.webhook(account)
    with writing():
        requested.deactivate()
        failing.deactivate(Deactivation.FAILURES)
    reasons = [Webhook.get_by_id(row.id).deactivated_because for row in (requested, failing)]
    assert reasons == [Deactivation.REQUESTED, Deactivation.FAILURES]
    with writing():
        failing.activate()
    rows = (failing, Webhook.get_by_id(failing.id))
    assert [row.deactivated_because for row in rows] == [None, None]


def test_disabling_a_webhook_that_failures_disabled_keeps_that_reason(account: Account) -> None:
    webhook = factories.webhook(account)
    with writing():
        webhook.deactivate(Deactivation.FAILURES)
        Webhook.get_by_id(webhook.id).deactivate()
    assert Webhook.get_by_id(webhook.id).deactivated_because == Deactivation.FAILURES


def test_deactivating_again_keeps_the_first_time(account: Account, clock: Clock) -> None:
    webhook = factories.webhook(account, active=False)
    first = clock.at
    clock.advance(hours=1)
    with writing():
        webhook.deactivate()
    assert Webhook.get_by_id(webhook.id).deactivated_at == first


def test_a_success_ends_the_row_of_discarded_events(account: Account) -> None:
    webhook, other = factories.webhook(account), factories.webhook(account)
    with writing():
        for row in (webhook, webhook, other):
            Webhook.note_discarded(row.id)
        note_success.execute([webhook.id])
        assert Webhook.note_discarded(webhook.id) == 1
        assert Webhook.note_discarded(other.id) == 2
        assert Webhook.note_discarded("wh_deleted") == 0


def test_another_url_and_enabling_end_a_rest(account: Account, clock: Clock) -> None:
    webhook = factories.webhook(account)

    def rest() -> None:
        Webhook.rest(webhook.id, clock.at + 1_000)
        assert Webhook.get_by_id(webhook.id).rest_ends_at(clock.at) == clock.at + 1_000

    with writing():
        rest()
        webhook.change(url=webhook.url)
        assert Webhook.get_by_id(webhook.id).rests_until is not None
        webhook.change(url=f"{webhook.url}/other")
        assert Webhook.get_by_id(webhook.id).rests_until is None
        rest()
        webhook.deactivate()
        webhook.activate()
        assert Webhook.get_by_id(webhook.id).rests_until is None


@pytest.mark.parametrize(("ms", "rests"), [(-1, False), (0, False), (1, True), (3_600_000, True)])
def test_a_rest_is_at_most_an_hour(clock: Clock, ms: int, *, rests: bool) -> None:
    until = clock.at + ms
    assert Webhook(rests_until=until).rest_ends_at(clock.at) == (until if rests else None)
    assert Webhook(rests_until=clock.at + 3_600_001).rest_ends_at(clock.at) is None
    assert Webhook(rests_until=None).rest_ends_at(clock.at) is None
