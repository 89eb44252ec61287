"""Types and sizes of media that the platform accepts from a business (Cloud API, Media: supported types)."""

from __future__ import annotations

from sandbox import graph_errors

MEGABYTE = 1024 * 1024
# The only limit of a file from a person (Cloud API, error 131052).
MOST = 100 * MEGABYTE

_OFFICE = "application/vnd.openxmlformats-officedocument"
LIMITS: dict[str, int] = {
    "audio/aac": 16 * MEGABYTE,
    "audio/amr": 16 * MEGABYTE,
    "audio/mp4": 16 * MEGABYTE,
    "audio/mpeg": 16 * MEGABYTE,
    "audio/ogg": 16 * MEGABYTE,
    "application/msword": MOST,
    "application/pdf": MOST,
    "application/vnd.ms-excel": MOST,
    "application/vnd.ms-powerpoint": MOST,
    f"{_OFFICE}.presentationml.presentation": MOST,
    f"{_OFFICE}.spreadsheetml.sheet": MOST,
    f"{_OFFICE}.wordprocessingml.document": MOST,
    "text/plain": MOST,
    "image/jpeg": 5 * MEGABYTE,
    "image/png": 5 * MEGABYTE,
    # A sticker. A static one may have a fifth of this; the bytes tell which it is.
    "image/webp": 500 * 1024,
    "video/3gpp": 16 * MEGABYTE,
    "video/mp4": 16 * MEGABYTE,
}
# The types that a message of each kind may have. A document may be any file.
OF_KIND: dict[str, frozenset[str]] = {
    "audio": frozenset(each for each in LIMITS if each.startswith("audio/")),
    "document": frozenset(LIMITS),
    "image": frozenset(("image/jpeg", "image/png")),
    "sticker": frozenset(("image/webp",)),
    "video": frozenset(each for each in LIMITS if each.startswith("video/")),
}


def bare(content_type: str) -> str:
    """The media type without its parameters, in lower case."""
    return content_type.partition(";")[0].strip().lower()


def limit_of(mime_type: str) -> int:
    """The most bytes of an upload of this type. Raises GraphError 100 for an unsupported one."""
    try:
        return LIMITS[mime_type]
    except KeyError:
        raise graph_errors.parameter(
            f"Param file must be a file with one of the following types: {', '.join(LIMITS)}."
            f" Received file of type '{mime_type}'."
        ) from None
