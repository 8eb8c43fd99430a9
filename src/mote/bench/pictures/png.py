"""Converts SVG to PNG."""

from __future__ import annotations

from mote.base.errors import MoteError
from mote.base.extras import require

PNG = b"\x89PNG"
"""Magic bytes of a PNG file."""
_EMPTY = '<svg xmlns="http://www.w3.org/2000/svg" width="20" height="20"><text y="15">{}</text></svg>'
ZOOM = 2
"""PNG pixels per SVG pixel, for high-density screens and print."""


def png(svg: str) -> bytes:
    """Renders an SVG in light colours with resvg and system fonts."""
    resvg = require("resvg_py", extra="png", what="drawing a PNG")
    blank, letter = (bytes(resvg.svg_to_bytes(svg_string=_EMPTY.format(text))) for text in ("", "m"))
    if blank == letter:
        raise MoteError("needs a font of the system for a PNG", remedy="install fonts-dejavu-core, or draw an .svg")
    try:
        return bytes(resvg.svg_to_bytes(svg_string=svg, zoom=ZOOM, background="white"))
    except ValueError as error:
        raise MoteError(f"could not be drawn as PNG ({error})", remedy="draw an .svg instead") from None
