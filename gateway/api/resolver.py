"""From the contract's names to ours.

Tag ``messages`` and operationId ``sendMessage`` name handlers.messages.send_message.
"""

import importlib
import re
from collections.abc import Callable
from typing import Any

from connexion.operations import AbstractOperation
from connexion.resolver import Resolution, Resolver

_CAPITAL = re.compile(r"(?<!^)(?=[A-Z])")


def function_name(operation_id: str) -> str:
    """``sendMessage`` -> ``send_message``."""
    return _CAPITAL.sub("_", operation_id).lower()


class TagResolver(Resolver):
    """Finds the handler of an operation in the module that is named like its first tag."""

    def resolve(self, operation: AbstractOperation) -> Resolution:
        """The handler. Raises ImportError or AttributeError at start when there is none."""
        tag = operation._operation["tags"][0]  # noqa: SLF001 - Connexion shows no tags otherwise
        module = importlib.import_module(f"handlers.{tag}")
        handler: Callable[..., Any] = getattr(module, function_name(operation.operation_id))
        return Resolution(handler, operation.operation_id)
