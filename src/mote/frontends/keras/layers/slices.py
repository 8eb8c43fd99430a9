"""Lambda layers whose code is a slice, `lambda x: x[:, 0]`.

The file has the code as CPython's marshal wrote it: an object of constants and instructions. It is read here as data,
by a parser of the few kinds of objects that a slice consists of, and a stack machine of the few instructions that build
one. Nothing of it is ever run, and anything else is refused.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build.builder import Value
from mote.frontends.keras.call import LayerCall, Parser
from mote.frontends.keras.layers.operations import get_item
from mote.frontends.remedies import OWN_CLASSES

FUNCTION = "a Lambda is a program in Python, which Mote never runs (only slices such as x[:, 0] are read)"
FLAG = 0x80
"""Marks an object that later ones may refer to."""
MOST_BYTES, MOST_DEPTH = 1 << 12, 8
X = object()
"""The argument of the function on the stack."""
SINGLES = {b"N": None, b"T": True, b"F": False, b".": Ellipsis}
BYTES, TEXTS, SHORT = b"s", b"tuaA", b"zZ"


@dataclass
class _Marshal:
    """A reader of marshalled objects."""

    data: bytes
    at: int = 0
    objects: list[Any] = field(default_factory=list)

    def take(self, count: int) -> bytes:
        part = self.data[self.at : self.at + count]
        if count < 0 or len(part) != count:
            raise ValueError("it ends early")
        self.at += count
        return part

    def integer(self) -> int:
        return int.from_bytes(self.take(4), "little", signed=True)

    def value(self, depth: int = 0) -> Any:
        """The next object: a number, a text, a tuple, bytes."""
        kind = self.take(1)[0]
        code, place = bytes([kind & ~FLAG]), len(self.objects)
        if kind & FLAG:
            self.objects.append(None)
        value = self._of(code, depth)
        if kind & FLAG:
            self.objects[place] = value
        return value

    def _of(self, code: bytes, depth: int) -> Any:
        if code in SINGLES:
            return SINGLES[code]
        if code == b"i":
            return self.integer()
        if code == BYTES or code in TEXTS:
            return self.take(self.integer())
        if code in SHORT:
            return self.take(self.take(1)[0])
        if code in b")(" and depth < MOST_DEPTH:
            count = self.take(1)[0] if code == b")" else self.integer()
            if not 0 <= count <= len(self.data):
                raise ValueError("a tuple is too long")
            return tuple(self.value(depth + 1) for _ in range(count))
        if code == b"r":
            number = self.integer()
            if not 0 <= number < len(self.objects):
                raise ValueError("it refers to nothing")
            return self.objects[number]
        raise ValueError("it has an object that no slice needs")


def _code(data: bytes) -> tuple[bytes, tuple[Any, ...]]:
    """The instructions and the constants of a function of one argument. Versions of Python have five or six numbers
    before them, of which the first one counts arguments."""
    marshal = _Marshal(data)
    kind = marshal.take(1)[0]
    if kind & ~FLAG != ord("c"):
        raise ValueError("it is not a function")
    if kind & FLAG:
        marshal.objects.append(None)
    numbers: list[int] = []
    while len(numbers) < 5 or (len(numbers) == 5 and marshal.data[marshal.at] & ~FLAG != BYTES[0]):
        numbers.append(marshal.integer())
    instructions, constants = marshal.value(), marshal.value()
    if numbers[0] != 1 or not isinstance(instructions, bytes) or not isinstance(constants, tuple):
        raise ValueError("it is not a function of one argument")
    return instructions, constants


def _subscript(stack: list[Any], keys: list[Any]) -> None:
    key, owner = stack.pop(), stack.pop()
    if owner is not X:
        raise ValueError("it takes items of something else")
    keys.append(key)
    stack.append(X)


def _keys(data: bytes) -> list[Any]:
    """The subscripts of the argument, one after another."""
    instructions, constants = _code(data)
    stack: list[Any] = []
    keys: list[Any] = []
    for opcode, number in zip(instructions[::2], instructions[1::2], strict=True):
        name = OPCODES.get(opcode, "")
        if name == "LOAD_FAST" and number == 0:
            stack.append(X)
        elif name == "LOAD_CONST":
            stack.append(constants[number])
        elif name == "BUILD_SLICE" and number in (2, 3):
            stack[-number:] = [slice(*stack[-number:])]
        elif name == "BINARY_SLICE":
            stack[-2:] = [slice(*stack[-2:])]
            _subscript(stack, keys)
        elif name == "BUILD_TUPLE":
            stack[len(stack) - number :] = [tuple(stack[len(stack) - number :])]
        elif name == "BINARY_SUBSCR":
            _subscript(stack, keys)
        elif name == "RETURN_VALUE":
            if stack != [X]:
                raise ValueError("it returns something else")
            return keys
        elif name != "NOTHING":
            raise ValueError("it does something else")
    raise ValueError("it returns nothing")


OPCODES: Mapping[int, str] = {
    **{0: "NOTHING", 9: "NOTHING", 151: "NOTHING"},
    **{25: "BINARY_SUBSCR", 26: "BINARY_SLICE", 83: "RETURN_VALUE", 100: "LOAD_CONST", 102: "BUILD_TUPLE"},
    **{124: "LOAD_FAST", 133: "BUILD_SLICE"},
}
"""Instructions of CPython 3.6 to 3.12 (of two bytes each), by their codes; those that do nothing here are CACHE, NOP
and RESUME."""


def _data(call: LayerCall) -> bytes:
    """The marshalled code of a Lambda, in the forms of Keras 2 and 3."""
    given, options = call.layer.options.get("function"), call.layer.options
    if isinstance(given, Mapping) and given.get("class_name") == "__lambda__":
        inner = given.get("config")
        parts = [inner.get(name) for name in ("code", "defaults", "closure")] if isinstance(inner, Mapping) else []
    else:
        parts = list(given) if isinstance(given, list) and options.get("function_type") == "lambda" else []
    if len(parts) != 3 or not isinstance(parts[0], str) or any(parts[1:]) or options.get("arguments"):
        raise UnsupportedNodeError(FUNCTION, OWN_CLASSES)
    try:
        data = base64.b64decode("".join(parts[0].split()), validate=True)
    except binascii.Error:
        raise UnsupportedNodeError(FUNCTION, OWN_CLASSES) from None
    if len(data) > MOST_BYTES:
        raise UnsupportedNodeError(FUNCTION, OWN_CLASSES)
    return data


def sliced(call: LayerCall) -> Value:
    """A Lambda that takes a part of its input."""
    try:
        keys = _keys(_data(call))
    except (ValueError, IndexError):
        raise UnsupportedNodeError(FUNCTION, OWN_CLASSES) from None
    value = call.x
    for key in keys:
        value = get_item(replace(call, args=[value], kwargs={"key": key}))
    return value


LAYERS: Mapping[str, Parser] = {"Lambda": sliced}
