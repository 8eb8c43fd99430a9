"""Untrusted text, such as names of layers: escaped for display."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches


def printable(text: str, keep: str = "") -> str:
    """Text without what a terminal or an editor would obey (escape sequences, line ends, characters that turn the
    direction of writing): such characters become what they are called in Python, but for those to `keep`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The known words that are most like another one, as the beginning of a remedy; nothing where none is."""
    near = get_close_matches(word, list(known), 3)
    return f"did you mean: {', '.join(near)}? " if near else ""
