"""TOML and JSON from anyone, read within limits: bytes, nesting, integers of 64 bits, text that is Unicode.

Python's own parsers raise half a dozen kinds of errors for hostile documents, and return values of which others raise
later: an integer of 5,000 digits cannot even be printed. Everything that is read here can be walked, compared, printed
and stored.
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
"""Bytes of a file that people write, unless its reader knows better."""
DEEPEST = 64
"""Tables and lists in one another."""
LEAST_INTEGER, MOST_INTEGER = -(1 << 63), (1 << 64) - 1
MOST_PARTS = 1000
"""Parts of a dotted key, for which `tomllib` takes time that grows with the square of their number."""
_LONG = re.compile(r"[0-9_]{1000,}")
_QUOTED = re.compile(r"""'[^'\n]*'?|"(?:[^"\\\n]+|\\.)*"?""")
_BETWEEN = re.compile(r"[=,\[\]{}#\n]")
"""Characters that end a key, where they are not quoted."""
_SHOWN, _SAID = 60, 200
"""Characters of a key and of a parser's message that are shown."""


class DocumentError(ValueError):
    """A document that is malformed; the message says where and how."""


class LimitError(DocumentError):
    """A document that is beyond one of the limits."""


def read_toml(
    path: str | Path, *, reason: str = "not valid TOML", remedy: str = "", most: int = MOST_BYTES
) -> dict[str, Any]:
    """The keys of a TOML file that the user named."""
    with _reading(path, reason, remedy):
        return parse_toml(_limited(path, most))


def read_json(path: str | Path, *, reason: str = "not valid JSON", remedy: str = "", most: int = MOST_BYTES) -> Any:
    """The value of a JSON file that the user named."""
    with _reading(path, reason, remedy):
        return parse_json(_limited(path, most))


@contextmanager
def _reading(path: str | Path, reason: str, remedy: str) -> Iterator[None]:
    """Errors inside name the file and what can be done about it."""
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
    """The keys of a TOML document."""
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
    """The value of a JSON document, of which the caller has limited the bytes."""
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
    """The reason why a parser gave up on what may be well-formed."""
    text = data.decode("utf-8", errors="replace")
    longest = max(_LONG.finditer(text), key=lambda match: len(match[0]), default=None)
    if isinstance(error, RecursionError):
        return LimitError("its tables and lists are nested too deeply")
    if longest is None:
        return DocumentError(printable(str(error))[:_SAID])
    line = text.count("\n", 0, longest.start()) + 1
    return LimitError(f"line {line:,} has an integer of {len(longest[0]):,} digits")


def _check_keys(text: str) -> None:
    """Refuses dotted keys of very many parts."""
    for run in _BETWEEN.split(_QUOTED.sub("q", text)):
        if run.count(".") >= MOST_PARTS:
            raise LimitError(f"a key has more than {MOST_PARTS:,} parts")


def _check(document: Any, deepest: int) -> None:
    """Refuses what the rest of the program need not expect: it walks values by recursion, prints them and stores them
    in 64 bits and as UTF-8."""
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
    """Whether a document is within the limits: without a path to what is not, which takes most of the time."""
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
    """The path of a value inside of a container; that of the document itself is empty."""
    if not depth:
        return ""
    if isinstance(key, int):
        return f"{place}[{key}]"
    return f"{place}.{key}" if place else key


def _named(place: str) -> str:
    return f"'{printable(place)[:_SHOWN]}'" if place else "the document"


def _is_text(text: str) -> bool:
    return text.isascii() or not any("\ud800" <= character <= "\udfff" for character in text)
