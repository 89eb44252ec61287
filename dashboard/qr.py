"""QR codes within a page."""

import io

import segno
from markupsafe import Markup


def qr_code(text: str, title: str) -> Markup:
    """The QR code as SVG, black on white in both themes: many scanners need that."""
    out = io.BytesIO()
    segno.make(text, error="m").save(
        out,
        kind="svg",
        omitsize=True,
        border=4,
        dark="#000",
        light="#fff",
        xmldecl=False,
        svgns=False,
        title=title,
    )
    # Segno escapes what it writes.
    return Markup(out.getvalue().decode())  # noqa: S704
