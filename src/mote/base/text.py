"""Untrusted text, such as names of layers: escaped and shortened for display."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from itertools import combinations


def printable(text: str, keep: str = "") -> str:
    """Text without what a terminal or an editor would obey (escape sequences, line ends, characters that turn the
    direction of writing): such characters become what they are called in Python, but for those to `keep`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


LONGEST_WORD = 80
"""Letters of a word that may be a known one."""


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The known words that are most like another one, as the beginning of a remedy; nothing where none is. Looking for
    them takes time that grows with the square of the letters: a very long word is like none."""
    near = get_close_matches(word, list(known), 3) if len(word) <= LONGEST_WORD else []
    return f"did you mean: {', '.join(near)}? " if near else ""


def deviation(error: float, digits: int = 0) -> str:
    """The relative error of an estimate in words: 62% too low."""
    percent = f"{abs(error):.{digits}%}"
    side = "" if not float(percent.rstrip("%")) else " too high" if error > 0 else " too low"
    return f"{percent}{side}" if side else "just right"


SHORT = 20
"""The most characters of a short name."""
GAP = ".."
"""The mark where letters were left out of a name."""
MOST_SEGMENTS = 6
"""Segments of a path from each of its ends that short names are made of: longer paths would take too long."""


def short_names(names: Sequence[str], width: int = SHORT, taken: Collection[str] = ()) -> list[str]:
    """A name of at most `width` characters for each of the names: the fewest segments of its path that no other one
    has. Converters join the paths of all operators that they fuse by semicolons: the layer that most of them belong to
    is the one that counts. No two are equal, not even those of equal names, and none is one that is `taken`; the result
    depends on nothing but the names and their order."""
    different = list(dict.fromkeys(names))
    paths = dict(zip(different, _without_scope([_path(name) for name in different]), strict=True))
    ways = {name: _ways(path, width) for name, path in paths.items()}
    shared = Counter([*taken, *taken, *(way for own in ways.values() for way in own)])
    own = {name: way for name in different if (way := next((w for w in ways[name] if shared[w] == 1), None))}
    used, first = {*taken, *own.values()}, dict(own)
    short = []
    for name in names:
        short.append(own.pop(name, "") or _numbered(first.get(name) or "/".join(paths[name]), used, width))
        used.add(short[-1])
    return short


def cut(text: str, width: int) -> str:
    """A text of at most `width` characters: its beginning and its end where it is longer."""
    if len(text) <= width:
        return text
    end = (width - len(GAP)) // 2
    return text[: width - len(GAP) - end] + GAP + text[len(text) - end :]


def _path(name: str) -> list[str]:
    """The segments of the path that a name is, of the part of it that names its main operator."""
    parts = [[segment for segment in part.split("/") if segment] for part in printable(name).split(";")]
    paths = [part for part in parts if part and not "".join(part).isdigit()] or [part for part in parts if part]
    if not paths:
        return ["-"]
    layers = [tuple(path[:-1]) or tuple(path) for path in paths]
    mentions = Counter(layer[:2] for layer in layers)
    most = max(mentions.values())
    return next(
        path for path, layer in zip(reversed(paths), reversed(layers), strict=True) if mentions[layer[:2]] == most
    )


def _without_scope(paths: Sequence[list[str]]) -> list[list[str]]:
    """The paths without the scopes that all of those with several segments begin with, such as the model's name."""
    nested = [path for path in paths if len(path) > 1]
    depth = 0
    while nested and all(len(path) > depth + 2 for path in nested) and len({path[depth] for path in nested}) == 1:
        depth += 1
    return [path[depth:] if len(path) > 1 else path for path in paths]


def _ways(path: Sequence[str], width: int) -> list[str]:
    """The short names that a path offers, best first: one segment, two, then three of them in their order. The last
    segment of several is the kind of an operator, which says nothing alone."""
    if len(path) > 2 * MOST_SEGMENTS:
        path = [*path[:MOST_SEGMENTS], *path[-MOST_SEGMENTS:]]
    segments = [s if len(s) <= width or not (last := s.rpartition(".")[2])[:1].isalpha() else last for s in path]
    several = (some for count in (2, 3) for some in combinations(segments, count))
    joined = (*(segments[:-1] or segments), *map("/".join, several))
    return [way for way in dict.fromkeys(joined) if len(way) <= width]


def _numbered(text: str, taken: Collection[str], width: int) -> str:
    """A text that is not taken, cut to the width: with a number at its end where it would be."""
    numbers = ("", *(f"~{n}" for n in range(2, len(taken) + 3)))
    return next(way for number in numbers if (way := cut(text, width - len(number)) + number) not in taken)
