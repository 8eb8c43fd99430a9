"""A small SVG writer: shapes with tooltips, ticks, colours for light and dark backgrounds."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from colorsys import hls_to_rgb
from html import escape

SVG = b"<svg"
"""First bytes of an SVG file."""
CHARACTER = 6.2
"""Upper estimate of a character's width in small text, in pixels."""
LINE = 16
"""Height of a line of text."""

_STYLE = """
text { font: 11px system-ui, sans-serif; fill: #1f2328 }
.paper { fill: #ffffff }
.title { font-size: 14px; font-weight: 600 }
.inside { fill: #14181d; pointer-events: none }
.box { stroke: #14181d; stroke-opacity: 0.3; stroke-width: 0.4 }
.grid { stroke: #1f2328; stroke-opacity: 0.15; stroke-width: 1 }
.axis { stroke: #1f2328; stroke-width: 1 }
.line { stroke: #1f2328; stroke-width: 1.5; fill: none }
.mark { stroke: #d1242f; stroke-width: 1.5; stroke-dasharray: 5 3 }
.note { fill: #d1242f }
.halo { paint-order: stroke; stroke: #ffffff; stroke-width: 3 }
.ring { stroke: #d1242f; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .paper { fill: #0d1117 }
  .inside { fill: #14181d }
  .grid, .axis, .line { stroke: #e6edf3 }
  .mark { stroke: #ff7b72 }
  .note { fill: #ff7b72 }
  .halo { stroke: #0d1117 }
  .ring { stroke: #ff7b72 }
}
"""

_SPACES = str.maketrans({"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
_CONTROL = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Canvas:
    """An SVG under construction: shapes in drawing order."""

    def __init__(self, width: float, title: str) -> None:
        self.width, self.title = width, title
        self.parts: list[str] = []
        self.definitions: list[str] = []

    def rect(self, x: float, y: float, w: float, h: float, tip: str = "", **attributes: object) -> None:
        self._shape("rect", tip, x=x, y=y, width=w, height=h, **attributes)

    def circle(self, x: float, y: float, r: float, tip: str = "", **attributes: object) -> None:
        self._shape("circle", tip, cx=x, cy=y, r=r, **attributes)

    def line(self, x1: float, y1: float, x2: float, y2: float, kind: str = "axis", tip: str = "") -> None:
        self._shape("line", tip, x1=x1, y1=y1, x2=x2, y2=y2, class_=kind)

    def path(self, points: Sequence[tuple[float, float]], kind: str = "line") -> None:
        d = "M" + " L".join(f"{_number(x)} {_number(y)}" for x, y in points)
        self._shape("path", "", d=d, class_=kind)

    def text(self, x: float, y: float, text: str, *, anchor: str = "start", kind: str = "", turn: int = 0) -> None:
        around = {"transform": f"rotate({turn} {_number(x)} {_number(y)})"} if turn else {}
        named = {"class_": kind} if kind else {}
        self.parts.append(f"<text{_attributes(x=x, y=y, text_anchor=anchor, **named, **around)}>{clean(text)}</text>")

    def hatching(self, name: str, colour: str) -> str:
        """Defines a striped fill."""
        self.definitions.append(
            f'<pattern id="{name}" width="6" height="6" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">'
            f'<rect width="6" height="6" fill="{colour}" fill-opacity="0.35"/>'
            f'<line x1="0" y1="0" x2="0" y2="6" stroke="{colour}" stroke-width="4"/></pattern>'
        )
        return f"url(#{name})"

    def finish(self, height: float) -> str:
        w, h = _number(self.width), _number(height)
        return "\n".join(
            [
                f'<svg xmlns="http://www.w3.org/2000/svg" width="{w}" height="{h}" viewBox="0 0 {w} {h}" role="img">',
                f"<title>{clean(self.title)}</title>",
                f"<style>{_STYLE}</style>",
                f"<defs>{''.join(self.definitions)}</defs>",
                f'<rect class="paper" width="{w}" height="{h}" rx="6"/>',
                *self.parts,
                "</svg>\n",
            ]
        )

    def _shape(self, kind: str, tip: str, **attributes: object) -> None:
        head = f"<{kind}{_attributes(**attributes)}"
        self.parts.append(f"{head}><title>{clean(tip)}</title></{kind}>" if tip else f"{head}/>")


def clean(text: str) -> str:
    """Escapes text for XML and drops characters that XML cannot represent."""
    return escape(_CONTROL.sub("\ufffd", text), quote=False)


def colour(index: int) -> str:
    """Colour of an index, distinct from its neighbours and light enough for dark text."""
    r, g, b = hls_to_rgb(index * 0.381966 % 1, (0.70, 0.78, 0.64)[index % 3], 0.6)
    return f"#{round(r * 255):02x}{round(g * 255):02x}{round(b * 255):02x}"


def byte_ticks(lo: float, hi: float, most: int) -> Iterator[tuple[int, str]]:
    """About `most` round byte values in lo..hi with labels."""
    step = 1
    while (hi - lo) / step > most:
        step *= 2
    for value in range(-(-int(lo) // step) * step, int(hi) + 1, step):
        yield value, f"{value / 1024:g} KB" if step >= 1024 and value else f"{value:,}"


def ticks(lo: float, hi: float, most: int) -> Iterator[int]:
    """About `most` round values in lo..hi."""
    step, factors = 1, (2, 2.5, 2)
    for i in range(60):
        if (hi - lo) / step <= most:
            break
        step = int(step * factors[i % 3])
    yield from range(-(-int(lo) // step) * step, int(hi) + 1, step)


def _attributes(**values: object) -> str:
    def text(value: object) -> str:
        text = _number(value) if isinstance(value, (int, float)) else _CONTROL.sub("\ufffd", str(value))
        return f'"{escape(text).translate(_SPACES)}"'

    return "".join(f" {key.rstrip('_').replace('_', '-')}={text(value)}" for key, value in values.items())


def _number(value: float) -> str:
    return f"{value:.2f}".rstrip("0").rstrip(".")
