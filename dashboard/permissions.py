"""The roles that may use each page and action of the dashboard, and the action's name in the audit log.

A view without an entry cannot be registered (dashboard.guard).
"""

from dataclasses import dataclass

from models.accounts.user import Role

OWNERS = frozenset({Role.OWNER})
DEVELOPERS = OWNERS | {Role.DEVELOPER}
AGENTS = DEVELOPERS | {Role.AGENT}
ALL = AGENTS | {Role.VIEWER}


@dataclass(frozen=True)
class Rule:
    """The roles that may use a view. A public view needs no session.

    ``change`` is the action in the audit log. It is empty if the view writes its own row or changes nothing.
    An atomic view runs in one transaction with its row: it calls no other host and hashes no password.
    """

    roles: frozenset[Role]
    change: str | None = None
    is_atomic: bool = False
    is_public: bool = False


def _done(roles: frozenset[Role], change: str) -> Rule:
    """An action that waits for a host or a hash, so its row is written afterwards."""
    return Rule(roles, change)


def _at_once(roles: frozenset[Role], change: str) -> Rule:
    """An action that runs in one transaction with its row."""
    return Rule(roles, change, is_atomic=True)


NOBODY = Rule(frozenset())
_PUBLIC = Rule(frozenset(), is_public=True)
_READ = Rule(ALL)
_DEVELOP = Rule(DEVELOPERS)
_OWN = Rule(OWNERS)

# By the name of the view. The reader of an open signup link can connect a number, so its pages are limited.
RULES = {
    "static": _PUBLIC,
    "to_home": _PUBLIC,
    "sign_in_form": _PUBLIC,
    "sign_in": _PUBLIC,
    "code_form": _PUBLIC,
    "enter_code": _PUBLIC,
    "sign_out": _done(ALL, "session.ended"),
    "overview": _READ,
    "search": _READ,
    "live": _READ,
    # Messages and contacts.
    "messages": _READ,
    "message": _READ,
    "contacts": _READ,
    "change_words": _at_once(DEVELOPERS, "account.words_changed"),
    "contact": _READ,
    "change_note": _at_once(AGENTS, "contact.note_changed"),
    "opt_out": _done(AGENTS, "contact.opted_out"),
    "opt_in": _done(AGENTS, "contact.opted_in"),
    "confirm_erase_contact": _DEVELOP,
    "erase_contact": _done(DEVELOPERS, "contact.erased"),
    "inbox": _READ,
    "conversation": _READ,
    "reply": _done(AGENTS, "contact.replied"),
    "media_form": _READ,
    "reply_with_media": _done(AGENTS, "contact.replied"),
    # Numbers and templates.
    "numbers": _READ,
    "number": _READ,
    "message_templates": _READ,
    # Deliveries.
    "deliveries": _READ,
    "delivery": _READ,
    "redeliver_delivery": _done(DEVELOPERS, "delivery.redelivered"),
    "compare": _READ,
    "redeliver_selected": _done(DEVELOPERS, "deliveries.redelivered"),
    "confirm_redeliver": _DEVELOP,
    "redeliver": _done(DEVELOPERS, "deliveries.redelivered"),
    # Webhooks.
    "webhooks": _READ,
    "webhook": _READ,
    "verify": _DEVELOP,
    "new_webhook": _DEVELOP,
    "create_webhook": _done(DEVELOPERS, "webhook.created"),
    "edit_webhook": _DEVELOP,
    "change_webhook": _done(DEVELOPERS, "webhook.changed"),
    "send_test": _done(DEVELOPERS, "webhook.tested"),
    "compose": _DEVELOP,
    "send_composed": _done(DEVELOPERS, "webhook.tested"),
    "confirm_rotate_secret": _DEVELOP,
    "rotate_secret": _at_once(DEVELOPERS, "webhook.secret_rotated"),
    "confirm_switch_off": _DEVELOP,
    "switch_off": _done(DEVELOPERS, "webhook.disabled"),
    "switch_on": _at_once(DEVELOPERS, "webhook.enabled"),
    "confirm_delete_webhook": _DEVELOP,
    "delete_webhook": _done(DEVELOPERS, "webhook.deleted"),
    # The API and the sandbox.
    "requests": _DEVELOP,
    "api_request": _DEVELOP,
    "sandbox": _DEVELOP,
    # Notifications.
    "notifications": _DEVELOP,
    "save_notifications": _done(DEVELOPERS, "account.notifications_changed"),
    "test_notifications": _done(DEVELOPERS, "account.notifications_tested"),
    # API keys.
    "keys": _READ,
    "create_key": _at_once(DEVELOPERS, "key.created"),
    "confirm_revoke_key": _DEVELOP,
    "revoke_key": _at_once(DEVELOPERS, "key.revoked"),
    # Signup links.
    "links": _DEVELOP,
    "create_link": _at_once(DEVELOPERS, "link.created"),
    "link": _DEVELOP,
    "confirm_revoke_link": _DEVELOP,
    "revoke_link": _at_once(DEVELOPERS, "link.revoked"),
    # Users.
    "users": _OWN,
    "invite": _at_once(OWNERS, "user.invited"),
    "confirm_withdraw_invitation": _OWN,
    "withdraw_invitation": _at_once(OWNERS, "invitation.withdrawn"),
    "user": _OWN,
    "change_role": _at_once(OWNERS, "user.role_changed"),
    "confirm_create_reset": _OWN,
    "create_reset": _at_once(OWNERS, "user.reset_link_created"),
    "confirm_remove_user": _OWN,
    "remove_user": _at_once(OWNERS, "user.removed"),
    "audit": _OWN,
    # The token in the link authorizes the request.
    "invitation": _PUBLIC,
    "accept_invitation": _PUBLIC,
    "password_reset": _PUBLIC,
    "reset_password": _PUBLIC,
    # The user's own account.
    "you": _READ,
    "change_own_password": _done(ALL, "user.password_changed"),
    "revoke_session": _at_once(ALL, "session.revoked"),
    "revoke_other_sessions": _at_once(ALL, "session.others_revoked"),
    "two_factor": _READ,
    "set_up_two_factor": _at_once(ALL, "two_factor.set_up"),
    "turn_on_two_factor": _done(ALL, "two_factor.enabled"),
    "two_factor_off": _READ,
    "turn_off_two_factor": _done(ALL, "two_factor.disabled"),
}
