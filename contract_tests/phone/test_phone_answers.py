"""The page with the phones: a person's actions reach the account as events."""

import base64
import hashlib

from playwright.sync_api import FilePayload, Page, Route, expect

from contract_tests.harness import Customer, Gateway
from contract_tests.phone.handset import Inbox, Phone, new_person, png
from contract_tests.phone.messages import BUTTONS, LIST, PLACE, TEMPLATE


def test_a_text_reaches_the_account(phone: Phone, inbox: Inbox) -> None:
    phone.say("Where is <b>my</b> order?")
    expect(phone.bubble("Where is <b>my</b> order?")).to_be_visible()
    assert inbox.next("text")["body"] == {"body": "Where is <b>my</b> order?"}


def test_the_press_of_a_button_reaches_the_account(phone: Phone, inbox: Inbox) -> None:
    sent = phone.send("interactive", BUTTONS)
    phone.press("Yes, please")
    assert inbox.next("interactive")["body"] == {
        "type": "button_reply",
        "button_reply": {"id": "yes", "title": "Yes, please"},
        "context": {"from": phone.number, "id": sent["wa_message_id"]},
    }
    answer = phone.page.get_by_role("listitem").filter(has_text="You:").last
    expect(answer).to_contain_text("Yes, please")
    expect(answer.get_by_role("blockquote")).to_contain_text("Shall we come?")


def test_a_row_is_chosen_from_a_list_with_the_keyboard_alone(phone: Phone, inbox: Inbox) -> None:
    phone.receive("interactive", LIST)
    opener = phone.page.get_by_role("button", name="Pick a time")
    opener.focus()
    phone.page.keyboard.press("Enter")
    sheet = phone.page.get_by_role("dialog", name="Pick a time")
    expect(sheet).to_be_visible()
    phone.page.keyboard.press("Escape")
    expect(sheet).to_be_hidden()
    expect(opener).to_be_focused()
    phone.page.keyboard.press("Enter")
    expect(sheet.get_by_role("button", name="Morning")).to_be_focused()
    phone.page.keyboard.press("Enter")
    reply = {"id": "am", "title": "Morning", "description": "From 8 to 12"}
    assert inbox.next("interactive")["body"]["list_reply"] == reply
    expect(sheet).to_be_hidden()


def test_a_sheet_that_is_opened_again_at_once_is_not_empty(phone: Phone) -> None:
    phone.receive("interactive", LIST)
    opener = phone.page.get_by_role("button", name="Pick a time")
    # The browser reports the closing in a task of its own, here after the second opening.
    told = opener.evaluate("""
        opener => new Promise(resolve => {
          const sheet = document.querySelector("dialog");
          sheet.addEventListener("close", () => resolve(sheet.open), {once: true});
          opener.click();
          sheet.close();
          opener.click();
        })
    """)
    assert told, "the sheet was not open when its close event came"
    expect(phone.page.get_by_role("dialog").get_by_role("button", name="Morning")).to_be_visible()


def test_the_quick_reply_of_a_template_reaches_the_account(phone: Phone, inbox: Inbox) -> None:
    sent = phone.send("template", TEMPLATE)
    phone.press("order-4711")
    answered = {"from": phone.number, "id": sent["wa_message_id"]}
    reply = {"payload": "order-4711", "text": "order-4711", "context": answered}
    assert inbox.next("button")["body"] == reply


def test_an_image_from_disk_reaches_the_account(phone: Phone, inbox: Inbox) -> None:
    picture: FilePayload = {"name": "cat.png", "mimeType": "image/png", "buffer": png()}
    phone.page.get_by_label("Send a file").set_input_files([picture])
    expect(phone.page.get_by_text("cat.png")).to_be_visible()
    phone.say("A cat")
    body = inbox.next("image")["body"]
    assert (body["mime_type"], body["caption"]) == ("image/png", "A cat")
    digest = hashlib.sha256(png())
    assert body["sha256"] in {digest.hexdigest(), base64.b64encode(digest.digest()).decode()}
    shown = phone.bubble("A cat").get_by_role("img", name="Image")
    phone.page.wait_for_function("it => it.naturalWidth === 24", arg=shown.element_handle())
    expect(phone.page.get_by_text("cat.png")).to_be_hidden()


def test_a_document_from_disk_keeps_its_name(phone: Phone, inbox: Inbox) -> None:
    file: FilePayload = {"name": "my claim.pdf", "mimeType": "application/pdf", "buffer": b"%PDF"}
    phone.page.get_by_label("Send a file").set_input_files([file])
    phone.press("Send")
    assert inbox.next("document")["body"]["filename"] == "my claim.pdf"


def test_a_reaction_of_the_person_reaches_the_account(phone: Phone, inbox: Inbox) -> None:
    sent = phone.send("text", {"body": "Your order is here"})
    phone.press("React to Your order is here")
    phone.press("👍")
    reaction = {"message_id": sent["wa_message_id"], "emoji": "👍"}
    assert inbox.next("reaction")["body"] == reaction
    expect(phone.bubble("Your order is here").get_by_title("You reacted")).to_have_text("👍")


def test_a_location_reaches_the_account(phone: Phone, inbox: Inbox) -> None:
    phone.press("Send a location")
    for name in ("Latitude", "Longitude", "Name"):
        phone.page.get_by_label(name, exact=True).fill(str(PLACE[name.lower()]))
    phone.press("Send the location")
    body = inbox.next("location")["body"]
    assert body == {name: PLACE[name] for name in ("latitude", "longitude", "name")}


def test_a_person_replies_to_one_message_of_many(phone: Phone, inbox: Inbox) -> None:
    sent = phone.send("text", {"body": "Which colour?"})
    phone.press("Reply to Which colour?")
    phone.say("Blue")
    answered = {"from": phone.number, "id": sent["wa_message_id"]}
    assert inbox.next("text")["body"] == {"body": "Blue", "context": answered}
    expect(phone.bubble("Blue").get_by_role("blockquote")).to_contain_text("Which colour?")
    phone.say("And a green one")
    expect(phone.bubble("And a green one").get_by_role("blockquote")).to_have_count(0)


def test_a_refused_reply_shows_the_reason_and_keeps_the_text(
    page: Page, gateway: Gateway, customer: Customer
) -> None:
    phone = Phone(page, gateway, customer, new_person())
    phone.open()
    phone.page.get_by_label("You are").fill("12")
    text = phone.page.get_by_role("textbox", name="Message")
    text.fill("Hello")
    text.press("Enter")
    expect(phone.page.get_by_role("alert")).to_contain_text("from ")
    expect(text).to_have_value("Hello")


def test_text_typed_during_a_send_stays(phone: Phone, inbox: Inbox) -> None:
    on_the_way: list[Route] = []

    def hold(route: Route) -> None:
        on_the_way.append(route)

    phone.page.route("**/_sandbox/inbound", hold)
    text = phone.page.get_by_role("textbox", name="Message")
    text.fill("First")
    with phone.page.expect_request("**/_sandbox/inbound"):
        text.press("Enter")
    text.press("Enter")
    text.press_sequentially("Second")
    (first,) = on_the_way
    with phone.page.expect_response("**/_sandbox/inbound"):
        first.continue_()
    assert inbox.next("text")["body"] == {"body": "First"}
    expect(phone.bubble("First")).to_be_visible()
    with phone.page.expect_response("**/_sandbox/conversation?*"):
        expect(text).to_have_value("Second")
    expect(text).to_have_value("Second")


def test_an_unsent_message_is_restored_completely(
    page: Page, gateway: Gateway, customer: Customer
) -> None:
    phone = Phone(page, gateway, customer, new_person())
    phone.open()
    phone.page.route("**/_sandbox/inbound", lambda route: route.abort())
    phone.receive("text", {"body": "A picture, please"})
    phone.press("Reply to A picture, please")
    picture: FilePayload = {"name": "cat.png", "mimeType": "image/png", "buffer": png()}
    phone.page.get_by_label("Send a file").set_input_files([picture])
    phone.say("A cat")
    expect(phone.page.get_by_role("alert")).to_contain_text(" sandbox ")
    expect(phone.page.get_by_role("textbox", name="Message")).to_have_value("A cat")
    expect(phone.page.get_by_text("cat.png")).to_be_visible()
    phone.page.unroute("**/_sandbox/inbound")
    phone.press("Send")
    answer = phone.bubble("A cat")
    expect(answer.get_by_role("img", name="Image")).to_be_visible()
    expect(answer.get_by_role("blockquote")).to_contain_text("A picture, please")
    expect(phone.page.get_by_text("cat.png")).to_be_hidden()
