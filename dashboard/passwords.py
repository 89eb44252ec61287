"""Reads a new password, typed twice."""

from flask import request

from models.accounts.user import MAX_PASSWORD, MIN_PASSWORD


def new_password() -> str:
    """The new password in the form."""
    return request.form.get("password", "")


def problem_of_new() -> str:
    """The error of the form's new password. Empty if it is valid."""
    if not MIN_PASSWORD <= len(new_password()) <= MAX_PASSWORD:
        return f"A password has {MIN_PASSWORD} to {MAX_PASSWORD} characters."
    return (
        ""
        if new_password() == request.form.get("again")
        else "The two passwords differ. Type the same one twice."
    )
