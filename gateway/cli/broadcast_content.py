"""The content of a broadcast: a template whose parameters are columns of a file, or the same text for all."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import click

from gateway.cli.messages import MAX_LISTED
from messaging_gateway_client import Client, types
from services.template_slots import Slot, content_of, slots


def find_template(
    client: Client, number_id: str, name: str, language: str | None
) -> types.Template:
    """The template of the number with this name, in this language or its only one. Fails without one."""
    fit = list(client.iterate_templates(number_id, name=name, language=language, limit=MAX_LISTED))
    if not fit:
        said = f'The number {number_id} has no template "{name}"'
        raise click.ClickException(f"{said}{f' in {language}' if language else ''}.")
    if len(fit) > 1:
        languages = ", ".join(sorted(each["language"] for each in fit))
        raise click.UsageError(
            f"Name one of the template's languages with --language: {languages}."
        )
    return fit[0]


def content_with(
    template: types.Template,
    columns: Mapping[str, str],
    fixed: Mapping[str, str],
    *,
    has_columns: bool,
) -> dict[str, Any]:
    """The content of the broadcast: ``columns`` and ``fixed`` are by variable.

    A named variable without either is the column of its name, if the recipients have columns. Fails for an
    unknown variable and for one without a value.
    """
    taken = slots(template["components"])
    given = {**{variable: _placeholder(column) for variable, column in columns.items()}, **fixed}
    values: dict[str, str] = {}
    for variable, value in given.items():
        named = [slot for slot in taken if variable in _names(slot)]
        if not named:
            raise click.UsageError(
                f"The template has no variable {variable}. It has {_listed(taken)}."
            )
        values |= {slot.name: value for slot in named}
    if has_columns:
        for slot in taken:
            if slot.parameter_name:
                values.setdefault(slot.name, _placeholder(slot.parameter_name))
    if missing := [slot for slot in taken if slot.name not in values]:
        way = "--column COLUMN=VARIABLE or --fixed" if has_columns else "--fixed"
        raise click.UsageError(
            f"Variables of the template have no value: {_listed(missing)}. Name each with {way}"
            " VARIABLE=TEXT."
        )
    return content_of(template["name"], template["language"], taken, values)


def _placeholder(column: str) -> str:
    return f"{{{{{column}}}}}"


def _names(slot: Slot) -> Iterator[str]:
    """What a command may call it: 1 is body-1. A named variable may be in several parts."""
    yield slot.name
    yield slot.name.removeprefix("body-")
    if slot.parameter_name:
        yield slot.parameter_name


def _listed(taken: Sequence[Slot]) -> str:
    return (
        ", ".join(f"{slot.name.removeprefix('body-')} ({slot.label})" for slot in taken) or "none"
    )
