"""The UploadedMedia object of the contract."""

from typing import Any

from networks.interface import MediaUpload


def upload_object(media_id: str, upload: MediaUpload, sha256: str) -> dict[str, Any]:
    """The object of a file that the network has. ``sha256`` is in hexadecimal."""
    return {"id": media_id, "mimeType": upload.mime_type, "size": upload.size, "sha256": sha256}
