"""The media types of the platform and their size limits (Cloud API, Media: supported types)."""

from networks.interface import FileTypes

MEBIBYTE = 1024 * 1024

_OFFICE = "application/vnd.openxmlformats-officedocument"
# For each kind of media, the limit in bytes and the content types with their file extensions. The limit of
# stickers is that of animated ones. The table of ``mimetypes`` lacks some types and differs by machine.
_MEDIA: dict[str, tuple[int, dict[str, str]]] = {
    "image": (5 * MEBIBYTE, {"image/jpeg": ".jpg .jpeg", "image/png": ".png"}),
    "audio": (
        16 * MEBIBYTE,
        {
            "audio/aac": ".aac",
            "audio/amr": ".amr",
            "audio/mp4": ".m4a",
            "audio/mpeg": ".mp3",
            "audio/ogg": ".ogg .oga .opus",
        },
    ),
    "video": (16 * MEBIBYTE, {"video/3gpp": ".3gp .3gpp", "video/mp4": ".mp4 .m4v"}),
    "sticker": (500 * 1024, {"image/webp": ".webp"}),
    "document": (
        100 * MEBIBYTE,
        {
            "application/pdf": ".pdf",
            "text/plain": ".txt",
            "application/msword": ".doc",
            f"{_OFFICE}.wordprocessingml.document": ".docx",
            "application/vnd.ms-excel": ".xls",
            f"{_OFFICE}.spreadsheetml.sheet": ".xlsx",
            "application/vnd.ms-powerpoint": ".ppt",
            f"{_OFFICE}.presentationml.presentation": ".pptx",
        },
    ),
}
FILES = FileTypes(
    limits={kind: limit for limit, types in _MEDIA.values() for kind in sorted(types)},
    extensions={
        extension: mime_type
        for _, types in _MEDIA.values()
        for mime_type, extensions in types.items()
        for extension in extensions.split()
    },
    # A voice note is an audio with ``voice``. The platform's earlier API had a separate type for it, which
    # clients of the Cloud API still accept.
    received=frozenset(_MEDIA) | {"voice"},
)
