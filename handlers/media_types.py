"""What the platform takes as media, and how large (Cloud API, Media: supported types)."""

MEBIBYTE = 1024 * 1024

_OFFICE = "application/vnd.openxmlformats-officedocument"
# Content types and most bytes of each kind of media. A sticker's limit is that of an animated one.
_KINDS: dict[str, tuple[int, tuple[str, ...]]] = {
    "image": (5 * MEBIBYTE, ("image/jpeg", "image/png")),
    "audio": (
        16 * MEBIBYTE,
        ("audio/aac", "audio/amr", "audio/mp4", "audio/mpeg", "audio/ogg"),
    ),
    "video": (16 * MEBIBYTE, ("video/3gpp", "video/mp4")),
    "sticker": (500 * 1024, ("image/webp",)),
    "document": (
        100 * MEBIBYTE,
        (
            "application/msword",
            "application/pdf",
            "application/vnd.ms-excel",
            "application/vnd.ms-powerpoint",
            f"{_OFFICE}.presentationml.presentation",
            f"{_OFFICE}.spreadsheetml.sheet",
            f"{_OFFICE}.wordprocessingml.document",
            "text/plain",
        ),
    ),
}
LIMITS = {type_: limit for limit, types in _KINDS.values() for type_ in types}
# Of each type the extensions of its files, the usual one first. The standard library's table lacks some, and
# what a machine adds to it differs.
EXTENSIONS = {
    ".jpg": "image/jpeg",
    ".jpeg": "image/jpeg",
    ".png": "image/png",
    ".aac": "audio/aac",
    ".amr": "audio/amr",
    ".m4a": "audio/mp4",
    ".mp3": "audio/mpeg",
    ".ogg": "audio/ogg",
    ".oga": "audio/ogg",
    ".opus": "audio/ogg",
    ".3gp": "video/3gpp",
    ".3gpp": "video/3gpp",
    ".mp4": "video/mp4",
    ".m4v": "video/mp4",
    ".webp": "image/webp",
    ".pdf": "application/pdf",
    ".txt": "text/plain",
    ".doc": "application/msword",
    ".docx": f"{_OFFICE}.wordprocessingml.document",
    ".xls": "application/vnd.ms-excel",
    ".xlsx": f"{_OFFICE}.spreadsheetml.sheet",
    ".ppt": "application/vnd.ms-powerpoint",
    ".pptx": f"{_OFFICE}.presentationml.presentation",
}
# Messages of these types carry a media object.
KINDS = frozenset(_KINDS)
