"""One own example for every other kind of request that Meta's OpenAPI file documents.

Read for media, profile and numbers. The reasons for omissions are at the end.
"""

from contract_tests.third_party.documented_messages import MESSAGES, TEXTS, Request
from contract_tests.third_party.documented_templates import TEMPLATES
from contract_tests.third_party.world import NO_EDGE, NO_OBJECT, PERSON

READ = {"messaging_product": "whatsapp", "status": "read", "message_id": "{inbound}"}
BLOCK = {"messaging_product": "whatsapp", "block_users": [{"user": f"+{PERSON}"}]}
PROFILE = {
    "messaging_product": "whatsapp",
    "about": "Open all day",
    "address": "1 Quay",
    "description": "Fish",
    "email": "fish@example.com",
    "websites": ["https://example.com", "https://example.org/fish"],
    "vertical": "RESTAURANT",
    "profile_picture_handle": "{handle}",
}
PIN = {"messaging_product": "whatsapp", "pin": "123456"}
HOOK = {"override_callback_uri": "{receiver}", "verify_token": "{verify_token}"}
NUMBER = {"cc": "1", "phone_number": "{free}", "verified_name": "Fish"}
KEY = {"business_public_key": "-----BEGIN PUBLIC KEY-----"}

REQUESTS = [
    *MESSAGES,
    *TEMPLATES,
    Request(
        "marketing template",
        "POST",
        "{number}/marketing_messages",
        {
            "messaging_product": "whatsapp",
            "to": PERSON,
            "type": "template",
            "template": {"name": "news", "language": {"code": "en"}, "components": [TEXTS]},
            "product_policy": "CLOUD_API_FALLBACK",
            "message_activity_sharing": True,
        },
    ),
    Request(
        "read receipt with typing indicator",
        "POST",
        "{number}/messages",
        READ | {"typing_indicator": {"type": "text"}},
    ),
    Request(
        "media upload as JSON",
        "POST",
        "{number}/media",
        {"messaging_product": "whatsapp", "file": "@a"},
        refused=100,
    ),
    Request("media address", "GET", "{media}?phone_number_id={number}"),
    Request("media deletion", "DELETE", "{media}"),
    Request(
        "profile", "GET", "{number}/whatsapp_business_profile?fields=about,email,websites,vertical"
    ),
    Request("profile change, all of it", "POST", "{number}/whatsapp_business_profile", PROFILE),
    Request(
        "profile change, a part",
        "POST",
        "{number}/whatsapp_business_profile",
        {"messaging_product": "whatsapp", "description": "Fish"},
    ),
    Request("profile as a node of its own", "GET", "123456789", refused=NO_OBJECT),
    Request("blocked people", "GET", "{number}/block_users"),
    Request("block", "POST", "{number}/block_users", BLOCK),
    Request("unblock", "DELETE", "{number}/block_users", BLOCK),
    Request("register", "POST", "{number}/register", PIN),
    Request(
        "register with a backup",
        "POST",
        "{number}/register",
        PIN | {"backup": {"data": "x", "password": "y"}},
    ),
    Request(
        "register in a region",
        "POST",
        "{number}/register",
        PIN | {"tier": "prod", "data_localization_region": "DE"},
    ),
    Request("deregister", "POST", "{number}/deregister"),
    Request(
        "code by text message",
        "POST",
        "{new}/request_code",
        {"code_method": "SMS", "language": "de_DE"},
    ),
    Request(
        "code by call", "POST", "{new}/request_code", {"code_method": "VOICE", "language": "de_DE"}
    ),
    Request("wrong code", "POST", "{new}/verify_code", {"code": "000"}, refused=136025),
    Request(
        "number",
        "GET",
        "{number}?fields=status,quality_rating,throughput,name_status,health_status",
    ),
    Request("numbers of an account", "GET", "{waba}/phone_numbers?fields=id,display_phone_number"),
    Request("new number", "POST", "{waba}/phone_numbers", NUMBER),
    Request(
        "new number that migrates",
        "POST",
        "{waba}/phone_numbers",
        NUMBER | {"migrate_phone_number": True},
    ),
    Request(
        "new number, verified before",
        "POST",
        "{waba}/phone_numbers",
        NUMBER | {"preverified_id": "1"},
    ),
    Request("webhook of a number", "POST", "{number}", {"webhook_configuration": HOOK}),
    Request(
        "PIN of a number",
        "POST",
        "{number}",
        {"whatsapp_business_api_data": {"pin": "123456"}, "search_visibility": "VISIBLE"},
    ),
    Request("display name of a number", "POST", "{number}", {"new_display_name": "Fish and more"}),
    Request("username of a number", "POST", "{number}", {"username": "fish.and.more"}),
    Request(
        "several settings of a number",
        "POST",
        "{number}",
        {"connection_status": "CONNECTED", "new_display_name": "Fish", "username": "fish_"},
    ),
    Request(
        "connection of a number",
        "POST",
        "{number}",
        {"connection_status": "CONNECTED"},
        refused=100,
    ),
    Request(
        "account", "GET", "{waba}?fields=id,name,timezone_id,account_review_status,ownership_type"
    ),
    Request("name of an account", "POST", "{waba}", {"name": "Fish"}),
    Request("time zone of an account", "POST", "{waba}", {"timezone_id": "2"}),
    Request("business", "GET", "{business}?fields=id,name"),
    Request(
        "accounts of a business, shared", "GET", "{business}/client_whatsapp_business_accounts"
    ),
    Request("accounts of a business, owned", "GET", "{business}/owned_whatsapp_business_accounts"),
    Request("subscriptions", "GET", "{waba}/subscribed_apps"),
    Request("subscription", "POST", "{waba}/subscribed_apps"),
    Request("subscription with a callback", "POST", "{waba}/subscribed_apps", HOOK),
    Request("no subscription", "DELETE", "{waba}/subscribed_apps"),
    Request(
        "QR codes",
        "GET",
        "{number}/message_qrdls?fields=code,prefilled_message,qr_image_url.format(SVG)",
    ),
    Request(
        "QR code as SVG",
        "POST",
        "{number}/message_qrdls",
        {"prefilled_message": "Hello", "generate_qr_image": "SVG"},
    ),
    Request(
        "QR code as PNG",
        "POST",
        "{number}/message_qrdls",
        {"prefilled_message": "Hello", "generate_qr_image": "PNG"},
    ),
    Request(
        "QR code without picture", "POST", "{number}/message_qrdls", {"prefilled_message": "Hello"}
    ),
    Request(
        "QR code with another text",
        "POST",
        "{number}/message_qrdls",
        {"code": "{qr}", "prefilled_message": "Hi"},
    ),
    Request("one QR code", "GET", "{number}/message_qrdls/{qr}?fields=code,creation_time"),
    Request("QR code deletion", "DELETE", "{number}/message_qrdls/{qr}"),
    Request("commerce settings", "GET", "{number}/whatsapp_commerce_settings"),
    Request(
        "commerce settings change",
        "POST",
        "{number}/whatsapp_commerce_settings?is_cart_enabled=true",
    ),
    Request("settings", "GET", "{number}/settings"),
    Request("settings of calls", "POST", "{number}/settings", {"calling": {"status": "ENABLED"}}),
    Request(
        "settings of encryption",
        "POST",
        "{number}/settings",
        {"payload_encryption": {"status": "DISABLED"}},
    ),
    Request(
        "settings of identity",
        "POST",
        "{number}/settings",
        {"user_identity_change": {"enable_identity_key_check": True}},
    ),
    Request(
        "settings of storage",
        "POST",
        "{number}/settings",
        {"storage_configuration": {"status": "DEFAULT"}},
    ),
    Request(
        "automation of prompts",
        "POST",
        "{number}/conversational_automation",
        {"prompts": ["Where are you?"]},
    ),
    Request(
        "automation of commands",
        "POST",
        "{number}/conversational_automation",
        {"commands": [{"command_name": "menu", "command_description": "All"}]},
    ),
    Request(
        "automation off",
        "POST",
        "{number}/conversational_automation",
        {"enable_welcome_message": False, "prompts": [], "commands": []},
    ),
    Request("public key", "GET", "{number}/whatsapp_business_encryption"),
    Request("public key change", "POST", "{number}/whatsapp_business_encryption", KEY),
    Request("official account", "GET", "{number}/official_business_account", refused=NO_EDGE),
    Request("compliance", "GET", "{number}/business_compliance_info", refused=NO_EDGE),
    Request("message history", "GET", "{number}/message_history", refused=NO_EDGE),
    Request(
        "encrypted send",
        "POST",
        "{number}/messages_encrypted",
        {"messaging_product": "whatsapp"},
        refused=NO_EDGE,
    ),
    Request("preverified numbers", "GET", "{business}/preverified_numbers", refused=NO_EDGE),
]

OF_OTHERS = "of partners, roles, schedules or migration, not of messages, media, profile or numbers"
LEFT_OUT = {
    "order details and order status": "payments, which only some countries have",
    "quick replies of a template with a text that is true or false": "an example that its own schema refuses",
    "calls, groups, flows": "products of their own",
    "solutions, partners, credit lines, assigned users, schedules, intents, activities": OF_OTHERS,
}
