"""Damage to documents: values of other types, numbers and texts that nobody expects, nesting, and damaged text."""

from __future__ import annotations

import json
from dataclasses import dataclass
from random import Random
from typing import Any


@dataclass(frozen=True)
class Raw:
    """A value as it is written, for what the format has and Python's types have not."""

    text: str


DEEP = 3000
NUMBERS: tuple[Any, ...] = (
    *(0, 1, -1, 2, 255, 65_536, -(1 << 31), (1 << 31) - 1, 1 << 32, (1 << 63) - 1, -(1 << 63), (1 << 64) - 1),
    *(1 << 64, 10**30, 0.0, -0.0, 0.5, 1e-320, 1e308, -1e308),
    *(Raw("9" * 400), Raw("9" * 5000), Raw("-" + "1" * 4500), Raw("1e999"), Raw("1" * 1000 + ".5")),
)
TEXTS = (
    *("", " ", "0", "-1", "1e9", "nan", "null", "a", "x" * 300, "é" * 60, "\u202eabc", "\U0001f600", "\x1b[31mred"),
    *(
        "\0",
        "a\0b",
        "a\nb",
        "\r",
        "\t",
        "'",
        '"',
        "\\",
        "$(true)",
        "%s%n",
        "{}",
        "{name}",
        "{elf}",
        "a/b",
        "../x",
        "..",
        "/",
    ),
    *("/dev/null", "none.toml", "none.json", "none.py", "qemu:cortex-m4", "tcp:h:1", "8 x qemu:virt", "host", "9" * 30),
    *("cortex-m4", "1,2,3", "int8", "a=b", "=", ",", ";", "K", "1K", "99999999999999G", "x" * 20_000),
)
TOML_ONLY = (
    Raw("nan"),
    Raw("-inf"),
    Raw("0x" + "f" * 6000),
    Raw("1979-05-27"),
    Raw("1979-05-27T07:32:00Z"),
    Raw("07:32:00"),
)
JSON_ONLY = (Raw("NaN"), Raw("-Infinity"), Raw("null"), Raw('"\\ud800"'), Raw('"\\u0000"'))
NESTED = (
    Raw("[" * 40 + "]" * 40),
    Raw("[" * 90 + "]" * 90),
    Raw("[" * DEEP + "]" * DEEP),
    Raw("[" * DEEP),
)
EMPTY: tuple[Any, ...] = ([], {}, [[]], [{}], {"": 0}, {"a": {"b": {"c": []}}}, True, False)
Place = tuple[Any, Any]
"""A container and the key of a value in it."""


def hostile(rng: Random, toml: bool) -> Any:
    """A value that a reader may not expect."""
    own = TOML_ONLY if toml else JSON_ONLY
    kinds = (rng.choice(NUMBERS), rng.choice(TEXTS), rng.choice(own), rng.choice(NESTED), rng.choice(EMPTY))
    return json_copy(rng.choice(kinds))


def damage(rng: Random, document: dict[str, Any], toml: bool) -> str:
    """Changes one place of a document; the kind of damage."""
    places = _places(document)
    container, key = rng.choice(places)
    value = container[key]
    kind = rng.choice(
        ("other value", "other value", "near", "gone", "renamed", "added", "wrapped", "moved", "repeated")
    )
    if kind == "other value":
        container[key] = hostile(rng, toml)
    elif kind == "near":
        container[key] = _near(rng, value)
    elif kind == "gone":
        del container[key]
    elif kind in ("renamed", "added") and isinstance(container, dict):
        container[rng.choice(TEXTS)] = container.pop(key) if kind == "renamed" else hostile(rng, toml)
    elif kind == "moved":
        other, there = rng.choice(places)
        if there in other if isinstance(other, dict) else there < len(other):
            container[key] = json_copy(other[there])
    elif kind == "repeated" and isinstance(value, list):
        value *= rng.choice((0, 2, 300))
    else:
        container[key] = [value] if rng.random() < 0.5 else {"a": value}
    return kind


def _near(rng: Random, value: Any) -> Any:
    """A value of the same type, or one that looks like it."""
    if isinstance(value, bool):
        return rng.choice((not value, int(value), str(value)))
    if isinstance(value, int):
        return rng.choice((value + 1, -value, value * 1000, float(value), str(value), value == 1))
    if isinstance(value, float):
        return rng.choice((-value, value * 1e30, str(value), 1 / (value or 1)))
    if isinstance(value, str) and value:
        at = rng.randrange(len(value))
        return rng.choice((value[:at], value[at:], value[:at] + rng.choice(TEXTS[:40]) + value[at:], value.upper()))
    return hostile(rng, toml=False) if not isinstance(value, list) else value[::-1]


def _places(value: Any) -> list[Place]:
    """All places of a document, those of the containers themselves too."""
    entries = list(value.items() if isinstance(value, dict) else enumerate(value))
    inner = [place for _, each in entries if isinstance(each, dict | list) for place in _places(each)]
    return [(value, key) for key, _ in entries] + inner


def json_copy(value: Any) -> Any:
    """A copy of a document that shares nothing with it."""
    if isinstance(value, dict):
        return {key: json_copy(each) for key, each in value.items()}
    return [json_copy(each) for each in value] if isinstance(value, list) else value


def written(value: Any, toml: bool) -> str:
    """A value as TOML, all tables inline, or as JSON."""
    if isinstance(value, Raw):
        return value.text
    if isinstance(value, dict):
        between = " = " if toml else ": "
        return "{" + ", ".join(f"{_quoted(str(k), toml)}{between}{written(v, toml)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(written(each, toml) for each in value) + "]"
    if isinstance(value, str):
        return _quoted(value, toml)
    return json.dumps(value)


def toml_document(document: dict[str, Any]) -> str:
    """A document as TOML, a line for each key."""
    return "".join(f"{_quoted(key, True)} = {written(value, True)}\n" for key, value in document.items())


def _quoted(text: str, toml: bool) -> str:
    quoted = json.dumps(text)
    return (
        quoted.replace("\x7f", "\\u007f")
        if not toml
        else json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
    )


NOISE = (
    b"[",
    b"]",
    b"{",
    b"}",
    b'"',
    b"'",
    b"\\",
    b"=",
    b".",
    b",",
    b"#",
    b"\n",
    b"\0",
    b"\xff",
    b"\x1b",
    b"-",
    b"e",
    b"9",
)


def damaged_text(rng: Random, data: bytes) -> bytes:
    """Text that is cut off, has other bytes, or a part of it many times."""
    at = rng.randrange(len(data) + 1)
    kind = rng.randrange(5)
    if kind == 0:
        return data[:at]
    if kind == 1:
        return data[at:]
    if kind == 2:
        return data[:at] + rng.choice(NOISE) * rng.choice((1, 1, 2, 500, 20_000)) + data[at:]
    if kind == 3:
        piece = data[at : at + rng.randrange(1, 40)]
        return data[:at] + piece * rng.choice((2, 3, 2000)) + data[at:]
    new = bytearray(data)
    for _ in range(rng.randint(1, 5)):
        if new:
            new[rng.randrange(len(new))] = rng.choice((rng.randrange(256), rng.choice(b"[]{}\"'=.0987,-\n")))
    return bytes(new)
