"""The page with the phones in a real browser: it shows every message that the account sends."""

import re

import pytest
from playwright.sync_api import Page, Route, expect

from contract_tests.harness import START_SECONDS, Customer, Gateway, wait_for
from contract_tests.phone.handset import Phone, new_person, png, turn_knobs
from contract_tests.phone.messages import LIST, SHOWN

# Without the separators between days.
BUBBLE = "li:not(.day)"


def test_the_phone_shows_each_type_of_message(phone: Phone) -> None:
    for kind, content, lines in SHOWN:
        shown = phone.receive(kind, content).inner_text().split("\n")
        said = [line.strip() for line in shown if line.strip()]
        assert said[: len(lines) + 1] == ["The business:", *lines]


def test_the_phone_shows_pictures_that_were_uploaded(phone: Phone) -> None:
    media_id = phone.upload(png(), "image/png")
    bubble = phone.receive("image", {"id": media_id, "caption": "A cat"})
    picture = bubble.get_by_role("img", name="Image")
    picture.scroll_into_view_if_needed()
    phone.page.wait_for_function("all => all.naturalWidth === 24", arg=picture.element_handle())
    expect(bubble).to_contain_text("A cat")


def test_the_phone_shows_players_and_files_for_what_was_uploaded(phone: Phone) -> None:
    video = phone.receive("video", {"id": phone.upload(b"film", "video/mp4")})
    expect(video.get_by_label("Video", exact=True)).to_be_visible()
    audio = phone.receive("audio", {"id": phone.upload(b"song", "audio/ogg"), "voice": True})
    expect(audio.get_by_label("Voice message", exact=True)).to_be_visible()
    document = {"id": phone.upload(b"%PDF", "application/pdf"), "filename": "a.pdf"}
    file = phone.receive("document", document).get_by_role("link", name="Open")
    with phone.page.expect_download() as download:
        file.click()
    assert download.value.path().read_bytes() == b"%PDF"


def test_a_reaction_shows_on_its_message_until_it_is_taken_back(phone: Phone) -> None:
    sent = phone.send("text", {"body": "Well?"})
    reactions = phone.message(sent["wa_message_id"]).get_by_title("The business reacted")
    phone.send("reaction", {"message_id": sent["id"], "emoji": "👍"})
    expect(reactions).to_have_text("👍")
    phone.send("reaction", {"message_id": sent["id"], "emoji": ""})
    expect(reactions).to_have_count(0)


def test_a_reply_shows_the_original_message(phone: Phone) -> None:
    first = phone.send("text", {"body": "Your order is here"})
    bubble = phone.receive("text", {"body": "Take your time"}, context={"message_id": first["id"]})
    expect(bubble.get_by_role("blockquote")).to_contain_text("Your order is here")


def test_the_ticks_change_until_a_message_is_read(phone: Phone, gateway: Gateway) -> None:
    turn_knobs(gateway, status_delay_ms=60_000)
    ticks = phone.receive("text", {"body": "Slowly"}).locator(".ticks")
    turn_knobs(gateway, status_delay_ms=20)
    for status in ("accepted", "sent", "delivered", "read"):
        expect(ticks).to_have_attribute("aria-label", status)
        gateway.sandbox_call("clock", advance_seconds=60)


def test_a_message_that_is_never_read_keeps_its_grey_ticks(
    page: Page, gateway: Gateway, customer: Customer
) -> None:
    phone = Phone(page, gateway, customer, "15550100007")
    phone.open()
    ticks = phone.receive("text", {"body": "Anybody?"}).locator(".ticks")
    expect(ticks).to_have_attribute("aria-label", "delivered")


def test_a_failed_message_says_why(page: Page, gateway: Gateway, customer: Customer) -> None:
    phone = Phone(page, gateway, customer, "15550100002")
    phone.open()
    bubble = phone.receive("text", {"body": "Buy now"})
    expect(bubble.locator(".ticks")).to_have_attribute("aria-label", "failed")
    expect(bubble).to_contain_text("131049")


def test_several_people_hold_their_phones_side_by_side(phone: Phone) -> None:
    phone.page.set_viewport_size({"width": 1400, "height": 900})
    phone.press("Add a phone")
    phones = phone.page.get_by_role("region", name="Phone")
    expect(phones).to_have_count(2)
    second = phones.nth(1)
    second.get_by_label("You are").fill("16505559999")
    second.get_by_role("textbox", name="Message").fill("Me too")
    second.get_by_role("button", name="Send", exact=True).click()
    expect(second.locator(BUBBLE)).to_contain_text("Me too")
    expect(phones.nth(0).locator(BUBBLE)).to_contain_text("Hi!")
    phones.nth(0).get_by_role("button", name="Put this phone away").click()
    expect(phones).to_have_count(1)
    expect(phones.locator(BUBBLE)).to_contain_text("Me too")


def test_a_text_typed_before_the_page_listens_is_kept(phone: Phone) -> None:
    held: list[Route] = []

    def hold(route: Route) -> None:
        held.append(route)

    script = "**/phone/page.js"
    phone.page.route(script, hold)
    with phone.page.expect_request(script):
        phone.page.reload(wait_until="commit")
    line = phone.page.get_by_role("textbox", name="Message")
    line.fill("Too early")
    line.press("Enter")
    send = phone.page.get_by_role("button", name="Send", exact=True)
    expect(send).to_be_disabled()
    held[0].continue_()
    send.click()
    expect(phone.bubble("Too early")).to_have_count(1)


def test_a_separator_stands_above_the_first_message_of_each_day(phone: Phone) -> None:
    days = phone.page.locator("li.day")
    expect(days).to_have_count(1)

    def yesterday(route: Route) -> None:
        """As if the first message were older than the others."""
        answer = route.fetch()
        if answer.status == 204:
            return route.fulfill(response=answer)
        content = answer.json()
        old = {
            "id": "2026-01-01",
            "html": '<li class="day" data-id="2026-01-01"><span>Then</span></li>',
        }
        content["data"][0]["day"] = old
        return route.fulfill(response=answer, json=content)

    phone.page.route("**/_sandbox/conversation?*", yesterday)
    phone.say("And again")
    expect(days).to_have_count(2)
    expect(days.first).to_have_text("Then")
    expect(phone.page.locator("li.day + li").last).to_contain_text("And again")


def test_a_long_conversation_opens_at_its_end(phone: Phone, gateway: Gateway) -> None:
    for each in range(70):
        person = {"to": phone.number, "from": phone.wa_id, "text": f"line {each}."}
        gateway.sandbox_call("inbound", **person)
    expect(phone.bubble("line 69.")).to_be_in_viewport()
    expect(phone.page.locator(BUBBLE)).to_have_count(60)
    phone.press("Show earlier messages")
    expect(phone.page.locator(BUBBLE)).to_have_count(71)
    expect(phone.bubble("line 69.")).to_be_in_viewport()


def test_the_page_survives_a_restart_of_the_sandbox(
    page: Page, gateway: Gateway, customer: Customer
) -> None:
    phone = Phone(page, gateway, customer, new_person())
    phone.open()
    # The sandbox may restart before the page polls again. So the page is blocked until it has noticed.
    page.route("**/_sandbox/conversation?*", lambda route: route.abort())
    gateway.kill("sandbox")
    expect(page.get_by_role("alert")).to_contain_text(" sandbox ")
    wait_for(gateway.is_ready, "a sandbox that answers again", START_SECONDS)
    page.unroute("**/_sandbox/conversation?*")
    expect(page.get_by_role("alert")).to_be_empty()
    phone.receive("text", {"body": "Back again"})


@pytest.mark.parametrize("width", [360, 768, 1400])
def test_nothing_is_cut_off(phone: Phone, width: int) -> None:
    phone.receive("text", {"body": "a" * 400})
    phone.receive("interactive", LIST)
    phone.page.set_viewport_size({"width": width, "height": 800})
    phone.press("Pick a time")
    wide = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert phone.page.evaluate(wide) == 0
    box = phone.page.get_by_role("dialog").bounding_box()
    assert box is not None
    assert box["x"] >= 0
    assert box["x"] + box["width"] <= width
    assert box["y"] + box["height"] <= 800


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_has_enough_contrast(phone: Phone, scheme: str) -> None:
    phone.page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    for ground in ("--theirs", "--mine", "--bar", "--wall"):
        for text in ("--ink", "--soft", "--link", "--bad", "--read"):
            pair = [colour(phone.page, name) for name in (text, ground)]
            assert contrast(*pair) >= 4.5, (text, ground)


def colour(page: Page, name: str) -> list[float]:
    """The red, green and blue (0 to 1) of a color of the page's style."""
    of = """name => {
        document.body.style.color = `var(${name})`;
        return getComputedStyle(document.body).color;
    }"""
    return [int(part) / 255 for part in re.findall(r"\d+", page.evaluate(of, name))]


def contrast(*colours: list[float]) -> float:
    """The contrast of two colors (WCAG 2, relative luminance)."""
    weights = (0.2126, 0.7152, 0.0722)
    dark, light = sorted(
        sum(
            weight * (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4)
            for weight, part in zip(weights, each, strict=True)
        )
        for each in colours
    )
    return (light + 0.05) / (dark + 0.05)


def test_the_page_has_no_script_or_style_without_the_nonce(phone: Phone) -> None:
    source = phone.page.request.get(phone.address).text()
    assert re.findall(r"<(?:script|link rel=.stylesheet)(?![^>]*nonce=)", source) == []
    assert re.findall(r"\son\w+=|style=", source) == []
