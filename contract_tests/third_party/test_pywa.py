"""pywa from PyPI, sync and async, unmodified, against the sandbox as graph.facebook.com."""

import asyncio
import inspect
from collections.abc import Callable
from typing import Any

import httpx
import pytest
import pywa
import pywa_async
from pywa.errors import WhatsAppError
from pywa.types import templates

from contract_tests.third_party.pywa_calls import CALLS, LEFT_OUT
from contract_tests.third_party.pywa_sends import Call
from contract_tests.third_party.pywa_templates import LANGUAGE
from contract_tests.third_party.world import PERSON, PNG, World


def sync_call(world: World, ask: Callable[[Any, World], Any]) -> Any:
    """The result of a call of the sync client."""
    with httpx.Client() as session:
        return ask(client(pywa.WhatsApp, world, session), world)


def async_call(world: World, ask: Callable[[Any, World], Any]) -> Any:
    """The result of a call of the async client."""

    async def answer() -> Any:
        async with httpx.AsyncClient() as session:
            asked = ask(client(pywa_async.WhatsApp, world, session), world)
            return await asked if inspect.isawaitable(asked) else asked

    return asyncio.run(answer())


def client(kind: Any, world: World, session: Any) -> Any:
    """The client, created like in its documentation."""
    business = world.business
    return kind(business.number_id, business.token, session=session, waba_id=business.waba_id)


BOTH = pytest.mark.parametrize("asked", [sync_call, async_call])


@BOTH
@pytest.mark.parametrize("call", CALLS, ids=lambda call: call.method)
def test_a_call_works_or_is_refused_as_documented(call: Call, asked: Any, world: World) -> None:
    if call.refused is None:
        assert asked(world, call.ask) is not False
        return
    with pytest.raises(WhatsAppError) as caught:
        asked(world, call.ask)
    assert caught.value.code == call.refused


@BOTH
def test_the_bytes_of_a_media_object_come_back(asked: Any, world: World) -> None:
    url = asked(world, lambda wa, w: wa.get_media_url(w.media_id())).url
    assert url.startswith("https://graph.facebook.com/")
    assert asked(world, lambda wa, _: wa.get_media_bytes(url)) == PNG


@BOTH
def test_a_changed_profile_is_shown(asked: Any, world: World) -> None:
    asked(
        world,
        lambda wa, _: wa.update_business_profile(about="Open", websites=["https://example.com"]),
    )
    profile = asked(world, lambda wa, _: wa.get_business_profile())
    assert (profile.about, profile.websites) == ("Open", ("https://example.com",))


def _one_code(wa: Any, _: World) -> Any:
    return wa.upsert_authentication_template(
        name="one_code",
        languages=[LANGUAGE, templates.TemplateLanguage.GERMAN],
        otp_button=templates.CopyCodeOTPButton(),
    )


# It passes the body to httpx in a deprecated way.
@pytest.mark.filterwarnings("ignore:Use 'content=:DeprecationWarning")
def test_authentication_templates_are_created_in_several_languages(world: World) -> None:
    for _ in range(2):
        assert len(async_call(world, _one_code)) == 2
    assert len(list(sync_call(world, lambda wa, _: wa.get_templates(name="one_code")))) == 2
    # The sync client sends the object as a string of JSON, which is not an object.
    with pytest.raises(WhatsAppError) as caught:
        sync_call(world, _one_code)
    assert caught.value.code == 100


@BOTH
def test_a_template_that_was_paused_is_sent_again_and_counted(asked: Any, world: World) -> None:
    fish, meat = world.template(status="PAUSED"), world.template("meat")
    with pytest.raises(WhatsAppError) as caught:
        asked(world, lambda wa, _: wa.send_template(PERSON, "fish", LANGUAGE))
    assert caught.value.code == 132015
    assert asked(world, lambda wa, _: wa.unpause_template(fish)).success
    assert not asked(world, lambda wa, _: wa.unpause_template(fish)).success
    asked(world, lambda wa, _: wa.send_template(PERSON, "fish", LANGUAGE))
    now = int(clock_of(world))
    told = asked(
        world, lambda wa, _: wa.compare_templates(fish, meat, start=now - 60, end=now + 60)
    )
    assert told.times_sent == {fish: 1, meat: 0}


@BOTH
def test_templates_are_listed_by_several_filters(asked: Any, world: World) -> None:
    paused = world.template(status="PAUSED")
    world.template("meat", status="DISABLED")
    statuses = [templates.TemplateStatus.PAUSED, templates.TemplateStatus.DISABLED]
    listed = asked(world, lambda wa, _: wa.get_templates(statuses=statuses, name_or_content="fish"))
    assert paused in [each.id for each in listed]
    assert {each.name for each in listed} == {"fish", "meat"}
    assert (listed.total_count, listed.message_template_limit) == (2, 6000)


def clock_of(world: World) -> float:
    """The sandbox's time."""
    return float(world.sandbox.control("GET", "clock")["unix_seconds"])


@BOTH
def test_a_blocked_person_is_listed_until_unblocked(asked: Any, world: World) -> None:
    assert world.blocked()
    [listed] = list(asked(world, lambda wa, _: wa.get_blocked_users()))
    assert listed.wa_id == "16505551234"
    assert asked(world, lambda wa, _: wa.unblock_users(["16505551234"])).removed_users
    assert list(asked(world, lambda wa, _: wa.get_blocked_users())) == []


# Handlers and callbacks make no requests.
OF_HANDLERS = {
    "load_handlers_modules",
    "add_flow_request_handler",
    "add_handlers",
    "remove_handlers",
    "remove_callbacks",
}


def test_each_method_is_called_or_left_out_with_a_reason() -> None:
    of_client = {
        member.__name__
        for name, member in vars(pywa.WhatsApp).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }
    called = {call.method for call in CALLS}
    on_updates = {name for name in of_client if name.startswith("on_")}
    assert of_client - OF_HANDLERS - on_updates == called | set(LEFT_OUT)
    assert not called & set(LEFT_OUT)
