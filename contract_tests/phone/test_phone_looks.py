"""The page with the phones at phone and desktop width, light and dark, without findings of axe-core."""

from contract_tests.dashboard.looks import faults
from contract_tests.phone.handset import Phone


def test_a_conversation_has_no_fault_in_any_look(phone: Phone) -> None:
    phone.receive("text", {"body": "مرحبا، طلبك في الطريق " * 4})
    phone.receive("location", {"latitude": 52.5, "longitude": 13.4, "name": "Head office"})
    phone.say("Thank you")
    assert faults(phone.page, "phone") == []


def test_a_sheet_has_no_fault_in_any_look(phone: Phone) -> None:
    phone.press("Send a location")
    assert faults(phone.page, "phone-location") == []
