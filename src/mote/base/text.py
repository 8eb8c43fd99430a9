"""Untrusted text, such as names of layers: escaped and shortened for display."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from difflib import get_close_matches
from itertools import combinations


def printable(text: str, keep: str = "") -> str:
    """Text in which characters that terminals or editors interpret (escape sequences, line ends, bidirectional
    overrides) are replaced by Python's escapes, except those in `keep`."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode() for c in text)


LONGEST_WORD = 80
"""Maximum letters of a word that suggestions are searched for."""


def is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def did_you_mean(word: str, known: Iterable[str]) -> str:
    """The text "did you mean: ...? " with the known words most similar to a word, as the beginning of a remedy; empty
    if none is similar. Very long words are not compared, as that takes quadratic time."""
    near = get_close_matches(word, list(known), 3) if len(word) <= LONGEST_WORD else []
    return f"did you mean: {', '.join(near)}? " if near else ""


def deviation(error: float, digits: int = 0) -> str:
    """The relative error of an estimate as text, such as "62% too low"."""
    percent = f"{abs(error):.{digits}%}"
    side = "" if not float(percent.rstrip("%")) else " too high" if error > 0 else " too low"
    return f"{percent}{side}" if side else "just right"


SHORT = 20
"""Default maximum characters of a short name."""
GAP = ".."
"""Replaces the omitted middle of a shortened text."""
MOST_SEGMENTS = 6
"""Segments at each end of a path that short names are built from; trying more of them would take too long."""


def short_names(names: Sequence[str], width: int = SHORT, taken: Collection[str] = ()) -> list[str]:
    """A unique name of at most `width` characters for each name: the fewest segments of its path that no other name
    has. If a converter has joined the paths of fused operators by semicolons, the path of the layer with most operators
    is used. No result equals another one or one in `taken`; the results depend only on the names and their order."""
    different = list(dict.fromkeys(names))
    paths = dict(zip(different, _without_scope([_path(name) for name in different]), strict=True))
    ways = {name: _short_forms(path, width) for name, path in paths.items()}
    shared = Counter([*taken, *taken, *(way for own in ways.values() for way in own)])
    own = {name: way for name in different if (way := next((w for w in ways[name] if shared[w] == 1), None))}
    used, first = {*taken, *own.values()}, dict(own)
    short = []
    for name in names:
        short.append(own.pop(name, "") or _numbered(first.get(name) or "/".join(paths[name]), used, width))
        used.add(short[-1])
    return short


def cut(text: str, width: int) -> str:
    """The text, or its beginning and its end if it has more than `width` characters."""
    if len(text) <= width:
        return text
    end = (width - len(GAP)) // 2
    return text[: width - len(GAP) - end] + GAP + text[len(text) - end :]


def _path(name: str) -> list[str]:
    """The segments of a name's path; if paths of several operators are joined, of the path of the main operator."""
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
    """The paths without the leading scopes that they all share, such as the model's name."""
    nested = [path for path in paths if len(path) > 1]
    depth = 0
    while nested and all(len(path) > depth + 2 for path in nested) and len({path[depth] for path in nested}) == 1:
        depth += 1
    return [path[depth:] if len(path) > 1 else path for path in paths]


def _short_forms(path: Sequence[str], width: int) -> list[str]:
    """The short names that could stand for a path, best first: one segment, two, then three in their order. The last
    segment of several is the kind of an operator and is no name alone."""
    if len(path) > 2 * MOST_SEGMENTS:
        path = [*path[:MOST_SEGMENTS], *path[-MOST_SEGMENTS:]]
    segments = [s if len(s) <= width or not (last := s.rpartition(".")[2])[:1].isalpha() else last for s in path]
    several = (some for count in (2, 3) for some in combinations(segments, count))
    joined = (*(segments[:-1] or segments), *map("/".join, several))
    return [way for way in dict.fromkeys(joined) if len(way) <= width]


def _numbered(text: str, taken: Collection[str], width: int) -> str:
    """The text cut to `width`, ending in a number if it would be in `taken` otherwise."""
    numbers = ("", *(f"~{n}" for n in range(2, len(taken) + 3)))
    return next(way for number in numbers if (way := cut(text, width - len(number)) + number) not in taken)
