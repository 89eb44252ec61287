"""Forms in parts (multipart/form-data), read in a thread, from memory or from a file."""

from dataclasses import dataclass
from typing import IO, Protocol

from werkzeug.datastructures import FileStorage
from werkzeug.exceptions import RequestEntityTooLarge
from werkzeug.formparser import FormDataParser
from werkzeug.http import parse_options_header

from handlers.errors import InvalidError, PayloadTooLargeError

MAX_FIELD_BYTES = 500_000
MAX_PARTS = 1_000


class Body(Protocol):
    """A request body of ``size`` bytes."""

    size: int

    def open(self) -> IO[bytes]:
        """The body from its beginning."""


@dataclass(frozen=True)
class Form:
    """A form that nobody has read yet. ``content_type`` holds its boundary."""

    content_type: str
    body: Body

    def file(self, name: str) -> FileStorage:
        """The one part of this name, a file. Raises InvalidError, PayloadTooLargeError.

        Other parts are ignored: HTML forms send buttons and tokens as well.
        """
        media_type, options = parse_options_header(self.content_type)
        parser = FormDataParser(max_form_memory_size=MAX_FIELD_BYTES, max_form_parts=MAX_PARTS)
        try:
            _, fields, files = parser.parse(self.body.open(), media_type, self.body.size, options)
        except RequestEntityTooLarge:
            raise PayloadTooLargeError(
                f"The form has more than {MAX_PARTS} parts, or a field of more than {MAX_FIELD_BYTES} bytes."
            ) from None
        found = files.getlist(name)
        is_one = len(found) == 1 and name not in fields
        for key, each in files.items(multi=True):
            if not (is_one and key == name):
                each.close()
        if not is_one:
            raise InvalidError(
                f"Request body: send exactly one part named {name}, with a filename."
            )
        return found[0]
