"""Parsers of untrusted TOML and JSON, with limits on size, nesting and integer width (64 bits); text must be valid
Unicode.

Python's own parsers raise many kinds of errors for hostile documents, and return values that fail later: an integer of
5,000 digits cannot even be printed. Values that are parsed here can be traversed recursively, compared, printed and
stored.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mote.base.errors import MoteError
from mote.base.files import read_file
from mote.base.text import printable

MOST_BYTES = 1 << 20
"""Default size limit of a document, in bytes."""
DEEPEST = 64
"""Maximum nesting depth of tables and lists."""
LEAST_INTEGER, MOST_INTEGER = -(1 << 63), (1 << 64) - 1
MOST_PARTS = 1000
"""Maximum parts of a dotted key: `tomllib` takes quadratic time in their number."""
_LONG = re.compile(r"[0-9_]{1000,}")
_QUOTED = re.compile(r"""'[^'\n]*'?|"(?:[^"\\\n]+|\\.)*"?""")
_BETWEEN = re.compile(r"[=,\[\]{}#\n]")
"""Characters that end an unquoted key."""
_SHOWN, _SAID = 60, 200
"""Maximum characters of a key path, and of a parser's message, in an error."""


class DocumentError(ValueError):
    """A document that is malformed; the message says where and how."""


class LimitError(DocumentError):
    """A document that exceeds one of the limits."""


def read_toml(
    path: str | Path, *, reason: str = "not valid TOML", remedy: str = "", most: int = MOST_BYTES
) -> dict[str, Any]:
    """Parses a TOML file that the user named; errors name the file. `most`: size limit in bytes."""
    with _reading(path, reason, remedy):
        return parse_toml(_limited(path, most))


def read_json(path: str | Path, *, reason: str = "not valid JSON", remedy: str = "", most: int = MOST_BYTES) -> Any:
    """Parses a JSON file that the user named; errors name the file. `most`: size limit in bytes."""
    with _reading(path, reason, remedy):
        return parse_json(_limited(path, most))


@contextmanager
def _reading(path: str | Path, reason: str, remedy: str) -> Iterator[None]:
    """Turns document errors inside of the block into a MoteError with the file's name and a remedy."""
    try:
        yield
    except DocumentError as error:
        what = str(error) if isinstance(error, LimitError) else f"{reason}: {error}"
        raise MoteError(what, where=printable(str(path)), remedy=remedy or "correct the file") from None
    except MoteError as error:
        error.remedy = error.remedy or remedy
        raise


def _limited(path: str | Path, most: int) -> bytes:
    data = read_file(path, most + 1)
    if len(data) > most:
        raise LimitError(f"has more than {most:,} bytes")
    return data


def parse_toml(data: bytes) -> dict[str, Any]:
    """Parses a TOML document."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise DocumentError(f"byte {error.start:,} is no UTF-8") from None
    _check_keys(text)
    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise DocumentError(printable(str(error))[:_SAID]) from None
    except (ValueError, RecursionError, OverflowError) as error:
        raise _unparsed(data, error) from None
    _check(document, DEEPEST)
    return document


def parse_json(data: bytes | str, deepest: int = DEEPEST) -> Any:
    """Parses a JSON document whose size the caller has limited. `deepest`: maximum nesting depth."""
    try:
        document = json.loads(data)
    except UnicodeDecodeError as error:
        raise DocumentError(f"byte {error.start:,} is no text") from None
    except json.JSONDecodeError as error:
        raise DocumentError(f"{error.msg} (at line {error.lineno:,}, column {error.colno:,})") from None
    except (ValueError, RecursionError) as error:
        raise _unparsed(data if isinstance(data, bytes) else data.encode(errors="replace"), error) from None
    _check(document, deepest)
    return document


def _unparsed(data: bytes, error: Exception) -> DocumentError:
    """The error for a document that a parser gave up on without a syntax error: nesting, a very long integer, or the
    parser's own message."""
    text = data.decode("utf-8", errors="replace")
    longest = max(_LONG.finditer(text), key=lambda match: len(match[0]), default=None)
    if isinstance(error, RecursionError):
        return LimitError("its tables and lists are nested too deeply")
    if longest is None:
        return DocumentError(printable(str(error))[:_SAID])
    line = text.count("\n", 0, longest.start()) + 1
    return LimitError(f"line {line:,} has an integer of {len(longest[0]):,} digits")


def _check_keys(text: str) -> None:
    """Refuses dotted keys with too many parts."""
    for run in _BETWEEN.split(_QUOTED.sub("q", text)):
        if run.count(".") >= MOST_PARTS:
            raise LimitError(f"a key has more than {MOST_PARTS:,} parts")


def _check(document: Any, deepest: int) -> None:
    """Refuses values nested too deeply, integers of more than 64 bits, and text with lone surrogates."""
    if _is_expected(document, deepest):
        return
    pending: list[tuple[Any, str, int]] = [([document], "", 0)]
    while pending:
        container, place, depth = pending.pop()
        if depth > deepest:
            raise LimitError(f"{_named(place)} is nested more than {deepest} tables and lists deep")
        for key, value in _entries(container):
            if isinstance(value, dict | list):
                pending.append((value, _below(place, key, depth), depth + 1))
            elif isinstance(value, int) and not LEAST_INTEGER <= value <= MOST_INTEGER:
                raise LimitError(f"{_named(_below(place, key, depth))} is an integer of more than 64 bits")
            elif (isinstance(value, str) and not _is_text(value)) or (isinstance(key, str) and not _is_text(key)):
                raise LimitError(f"{_named(_below(place, key, depth))} has half a character (a lone surrogate)")


def _is_expected(document: Any, deepest: int) -> bool:
    """Whether a document is within the limits; faster than the check that also finds the place of an error."""
    level: list[Any] = [[document]]
    for _ in range(deepest + 1):
        inner: list[Any] = []
        for container in level:
            if isinstance(container, dict) and not all(map(_is_text, container)):
                return False
            for value in container.values() if isinstance(container, dict) else container:
                if isinstance(value, dict | list):
                    inner.append(value)
                elif isinstance(value, str):
                    if not _is_text(value):
                        return False
                elif isinstance(value, int) and not LEAST_INTEGER <= value <= MOST_INTEGER:
                    return False
        level = inner
    return not level


def _entries(container: Any) -> Iterable[tuple[str | int, Any]]:
    return container.items() if isinstance(container, dict) else enumerate(container)


def _below(place: str, key: str | int, depth: int) -> str:
    """The path of an entry of a container, such as `a.b[2]`; empty for the document itself."""
    if not depth:
        return ""
    if isinstance(key, int):
        return f"{place}[{key}]"
    return f"{place}.{key}" if place else key


def _named(place: str) -> str:
    return f"'{printable(place)[:_SHOWN]}'" if place else "the document"


def _is_text(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)
