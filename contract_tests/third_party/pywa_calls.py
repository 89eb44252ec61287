"""Every call of pywa for messages, media, profile, numbers and blocking, and reasons for omitted calls."""

from pywa import types
from pywa.types import others

from contract_tests.third_party.pywa_sends import SENDS, Call
from contract_tests.third_party.pywa_templates import TEMPLATES
from contract_tests.third_party.world import NO_OBJECT, PERSON, PNG
from sandbox_harness import APP_ID, APP_SECRET, VERIFY_TOKEN

CALLS = [
    *SENDS,
    *TEMPLATES,
    Call("mark_message_as_read", lambda wa, w: wa.mark_message_as_read(w.inbound())),
    Call("mark_message_as_read", lambda wa, w: wa.mark_message_as_read(w.sent()), refused=131009),
    Call("indicate_typing", lambda wa, w: wa.indicate_typing(w.inbound())),
    Call("upload_media", lambda wa, _: wa.upload_media(PNG, "image/png", "a.png")),
    Call("upload_media", lambda wa, _: wa.upload_media(b"x", "text/html", "a.html"), refused=100),
    Call("get_media_url", lambda wa, w: wa.get_media_url(w.media_id())),
    Call("get_media_url", lambda wa, _: wa.get_media_url("1"), refused=NO_OBJECT),
    Call(
        "delete_media", lambda wa, w: wa.delete_media(w.media_id(), phone_id=w.business.number_id)
    ),
    Call("get_business_profile", lambda wa, _: wa.get_business_profile()),
    Call(
        "update_business_profile",
        lambda wa, _: wa.update_business_profile(
            about="Open all day",
            address="1 Quay",
            description="Fish",
            email="fish@example.com",
            industry=types.Industry.GROCERY,
            websites=["https://example.com"],
            profile_picture=PNG,
            app_id=APP_ID,
        ),
    ),
    Call(
        "update_business_profile",
        lambda wa, _: wa.update_business_profile(about="x" * 140),
        refused=100,
    ),
    Call("get_business_account", lambda wa, _: wa.get_business_account()),
    Call(
        "get_shared_business_accounts",
        lambda wa, w: wa.get_shared_business_accounts(business_portfolio_id=w.business_id()),
    ),
    Call(
        "get_owned_business_accounts",
        lambda wa, w: wa.get_owned_business_accounts(business_portfolio_id=w.business_id()),
    ),
    Call(
        "update_business_account_settings",
        lambda wa, _: wa.update_business_account_settings(
            disable_marketing_messages_on_cloud_api=True
        ),
    ),
    Call("get_business_phone_number", lambda wa, _: wa.get_business_phone_number()),
    Call("get_business_phone_numbers", lambda wa, _: wa.get_business_phone_numbers()),
    Call(
        "get_business_phone_number_settings", lambda wa, _: wa.get_business_phone_number_settings()
    ),
    Call(
        "update_business_phone_number_settings",
        lambda wa, _: wa.update_business_phone_number_settings(
            storage_configuration=others.StorageConfiguration(status=others.StorageStatus.DEFAULT)
        ),
    ),
    Call(
        "update_conversational_automation",
        lambda wa, _: wa.update_conversational_automation(
            ["Where are you?"], [types.Command(name="menu", description="What there is")]
        ),
    ),
    Call("update_display_name", lambda wa, _: wa.update_display_name("Fish and more")),
    Call("get_commerce_settings", lambda wa, _: wa.get_commerce_settings()),
    Call(
        "update_commerce_settings", lambda wa, _: wa.update_commerce_settings(is_cart_enabled=True)
    ),
    Call(
        "set_business_public_key",
        lambda wa, _: wa.set_business_public_key("-----BEGIN PUBLIC KEY-----"),
    ),
    Call("register_phone_number", lambda wa, _: wa.register_phone_number("123456")),
    Call("register_phone_number", lambda wa, _: wa.register_phone_number("654321"), refused=133005),
    Call("deregister_phone_number", lambda wa, _: wa.deregister_phone_number()),
    Call(
        "create_phone_number",
        lambda wa, w: wa.create_phone_number(
            country_calling_code="1", phone_number=w.free_digits(), verified_name="New"
        ),
    ),
    Call(
        "request_verification_code",
        lambda wa, w: wa.request_verification_code(
            code_method="SMS", language_code="en", phone_id=w.new_number()
        ),
    ),
    Call(
        "request_verification_code",
        lambda wa, _: wa.request_verification_code(code_method="VOICE", language_code="en"),
        refused=136024,
    ),
    Call(
        "verify_phone_number",
        lambda wa, w: (
            (number := w.new_number())
            and wa.verify_phone_number(w.code_of(number), phone_id=number)
        ),
    ),
    Call(
        "verify_phone_number",
        lambda wa, w: wa.verify_phone_number("0", phone_id=w.new_number()),
        refused=136025,
    ),
    Call("create_qr_code", lambda wa, _: wa.create_qr_code("Hello")),
    Call("get_qr_code", lambda wa, w: wa.get_qr_code(w.qr_code())),
    Call("get_qr_codes", lambda wa, w: w.qr_code() and wa.get_qr_codes()),
    Call("update_qr_code", lambda wa, w: wa.update_qr_code(w.qr_code(), "Good day")),
    Call("delete_qr_code", lambda wa, w: wa.delete_qr_code(w.qr_code())),
    Call("delete_qr_code", lambda wa, _: wa.delete_qr_code("A"), refused=NO_OBJECT),
    Call("get_app_access_token", lambda wa, _: wa.get_app_access_token(APP_ID, APP_SECRET)),
    Call(
        "set_app_callback_url",
        lambda wa, w: wa.set_app_callback_url(
            APP_ID, f"{APP_ID}|{APP_SECRET}", w.platform.receiver.url, VERIFY_TOKEN, ("messages",)
        ),
    ),
    Call(
        "override_waba_callback_url",
        lambda wa, w: wa.override_waba_callback_url(w.platform.receiver.url, VERIFY_TOKEN),
    ),
    Call("delete_waba_callback_url", lambda wa, _: wa.delete_waba_callback_url()),
    Call(
        "override_phone_callback_url",
        lambda wa, w: wa.override_phone_callback_url(w.platform.receiver.url, VERIFY_TOKEN),
    ),
    Call("delete_phone_callback_url", lambda wa, _: wa.delete_phone_callback_url()),
    Call("block_users", lambda wa, w: w.inbound() and wa.block_users([PERSON])),
    Call("block_users", lambda wa, _: wa.block_users(["16505550000"]), refused=139100),
    Call("unblock_users", lambda wa, w: w.blocked() and wa.unblock_users([PERSON])),
    Call("get_blocked_users", lambda wa, w: w.blocked() and wa.get_blocked_users()),
    Call("set_username", lambda wa, _: wa.set_username("fish.and.more")),
    Call("get_current_username", lambda wa, _: wa.get_current_username(), refused=NO_OBJECT),
    Call("get_reserved_usernames", lambda wa, _: wa.get_reserved_usernames()),
    Call("delete_username", lambda wa, _: wa.delete_username()),
]

OF_FLOWS, OF_CALLS, OF_GROUPS = "flows", "calls", "groups"
OWN_TEST = "has a separate test: the two clients send different requests"
OF_ANOTHER_HOST = "calls api.facebook.com, which is not the platform that the sandbox replaces"
DOWNLOAD = "has a separate test: first the address, then the bytes"
LEFT_OUT = {
    **dict.fromkeys(["pin_message", "unpin_message"], OF_GROUPS),
    **dict.fromkeys(["archive_templates", "unarchive_templates"], OF_ANOTHER_HOST),
    "migrate_templates": "of migration between accounts",
    "upsert_authentication_template": OWN_TEST,
    **dict.fromkeys(
        [
            "create_flow",
            "update_flow_metadata",
            "update_flow_json",
            "publish_flow",
            "delete_flow",
            "deprecate_flow",
            "get_flow",
            "get_flows",
            "get_flow_metrics",
            "get_flow_assets",
            "migrate_flows",
        ],
        OF_FLOWS,
    ),
    **dict.fromkeys(
        [
            "get_call_permissions",
            "initiate_call",
            "pre_accept_call",
            "accept_call",
            "reject_call",
            "terminate_call",
        ],
        OF_CALLS,
    ),
    **dict.fromkeys(
        [
            "create_group",
            "get_group",
            "get_groups",
            "delete_group",
            "get_group_join_requests",
            "approve_group_join_requests",
            "reject_group_join_requests",
            "get_group_invite_link",
            "reset_group_invite_link",
            "remove_group_participants",
            "update_group_settings",
        ],
        OF_GROUPS,
    ),
    **dict.fromkeys(
        ["create_signup", "get_signups", "get_signup", "update_signup"], "signups for marketing"
    ),
    **dict.fromkeys(["download_media", "get_media_bytes", "stream_media"], DOWNLOAD),
}
