"""/dashboard/suppressions: the people who get no marketing, their lists, and the settings of consent."""

from contextlib import ExitStack

from flask import Response, request

from dashboard.contacts import as_kept
from dashboard.guard import AGENTS, ALL, DEVELOPERS, account
from dashboard.own_numbers import own_numbers
from dashboard.site import PER_PAGE, FormError, blueprint, confirm, go, mine, offset, show
from models.accounts.account import MAX_ANSWER, ConsentScope
from models.accounts.opt_words import ENGLISH, LANGUAGES
from models.errors import DomainError
from models.messages.suppression import Suppression
from services import accounts, consent, suppression_lists
from services.business import PERSON
from services.contacts import languages_for
from services.fair_share import Share

PATH = "/dashboard/suppressions"
MAX_PERSON = 200
# How the languages of the built-in words are chosen.
AUTOMATIC, CHOSEN, OFF = "automatic", "chosen", "off"
EXPORTS = Share("exports of suppressions", 1, 3)


@blueprint.page("/suppressions", ALL)
def suppressions() -> Response:
    """The opt-outs in force, newest first, or those of one person."""
    text = request.args.get("person", "").strip()
    person = as_kept(text) or None
    found = Suppression.search(account(), PER_PAGE, offset(), person, None)
    languages = account().languages
    return show(
        "suppressions.html",
        found=found,
        person=text,
        numbers=own_numbers(),
        max_person=MAX_PERSON,
        max_reason=suppression_lists.MOST_REASON,
        max_answer=MAX_ANSWER,
        most_lines=suppression_lists.MOST_LINES,
        scopes=ConsentScope,
        languages=LANGUAGES,
        chosen=sorted(languages_for(account())),
        choice=AUTOMATIC if languages is None else CHOSEN if languages else OFF,
    )


@blueprint.action("/suppressions", AGENTS, "suppression.added")
def add_suppression() -> Response:
    """Suppress a person."""
    person, reason = as_kept(request.form.get("person", "").strip()), request.form.get("reason", "")
    if not PERSON.fullmatch(person):
        problem = "Enter a phone number with its country code, or a user id."
        raise FormError(problems={"person": problem})
    reason = " ".join(reason.split())[: suppression_lists.MOST_REASON]
    try:
        consent.suppress(
            account().id, person, request.form.get("number_id") or None, reason or None
        )
    except DomainError as error:
        raise FormError(error.message) from None
    return go(PATH, say="suppression-added")


@blueprint.action("/suppressions/<suppression_id>/remove", AGENTS, "suppression.removed", asks=True)
def remove_suppression(suppression_id: str) -> Response:
    """Opt a person in again."""
    row = mine(Suppression.by_id(suppression_id))
    if question := confirm("remove-suppression", back=PATH):
        return question
    consent.end(account().id, row.id)
    return go(PATH, say="suppression-removed")


@blueprint.action("/suppressions/import", AGENTS, "suppressions.imported")
def import_suppressions() -> Response:
    """Suppress the people of a file."""
    file = request.files.get("file")
    if file is None or not file.filename:
        raise FormError("Choose a CSV file.", view=suppressions)
    try:
        suppression_lists.load(account().id, file.stream)
    except DomainError as error:
        raise FormError(error.message, view=suppressions) from None
    return go(PATH, say="suppressions-imported")


@blueprint.page("/suppressions.csv", AGENTS)
def suppressions_csv() -> Response:
    """All of them as a file, sent in parts. Raises RateLimitedError."""
    headers = {"Content-Disposition": 'attachment; filename="suppressions.csv"'}
    with ExitStack() as place:
        place.enter_context(EXPORTS.of(account().id))
        parts = suppression_lists.dump(account().id)
        response = Response(parts, headers=headers, mimetype="text/csv")
        response.call_on_close(place.pop_all().close)
    return response


@blueprint.action("/suppressions/consent", DEVELOPERS, "account.consent_changed")
def change_consent() -> Response:
    """Change what an opt-out holds for, the built-in words, and the answer."""
    form = request.form
    scopes = {scope.value: scope for scope in ConsentScope}
    languages = {AUTOMATIC: None, OFF: []}.get(
        form.get("words", ""), form.getlist("language") or [ENGLISH]
    )
    try:
        accounts.set_consent(
            account(),
            scope=scopes.get(form.get("scope", ""), ConsentScope.ACCOUNT),
            languages=languages,
            answer="\n".join(form.get("answer", "").strip().splitlines()) or None,
        )
    except ValueError as error:
        raise FormError(str(error), view=suppressions) from None
    return go(PATH, say="consent-saved")
