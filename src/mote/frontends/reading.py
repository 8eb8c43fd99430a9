"""Options for reading a model file: shapes of inputs, and values of inputs that are constant."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from io import BytesIO
from typing import Any

import numpy as np

from mote.base.errors import MoteError
from mote.base.files import read_file

SET = "write it like sr=16000, h=0,0,0 or h=file.npy"


def reading(shapes: Any, signature: str, constants: Any) -> dict[str, Any]:
    """The options for reading a model, as `source_of` takes them."""
    return {"shapes": parsed_shapes(shapes), "signature": signature, "constants": parsed_constants(constants)}


def parsed_shapes(shapes: Any) -> dict[str, tuple[int, ...]]:
    """Shapes by input name, from a mapping or strings."""
    if isinstance(shapes, str) or not isinstance(shapes, Iterable):
        raise wrong_value("shapes", shapes, 'a mapping {input: shape} or a list of "NAME=1,3,96,96"')
    by_name = dict(shapes) if isinstance(shapes, Mapping) else dict(map(_named_shape, shapes))
    return {str(name): _shape(name, shape) for name, shape in by_name.items()}


def parsed_constants(constants: Any) -> dict[str, Any]:
    """Values of inputs by name, from a mapping or strings, as numbers and lists."""
    if isinstance(constants, str) or not isinstance(constants, Iterable):
        raise wrong_value("constants", constants, 'a mapping {input: value} or a list of "NAME=VALUE"')
    by_name = dict(constants) if isinstance(constants, Mapping) else dict(map(_named_value, constants))
    return {str(name): _numbers(name, value) for name, value in by_name.items()}


def _named_value(text: Any) -> tuple[str, Any]:
    """An input and its value: numbers, or a `.npy` file; an input's name may contain an equals sign."""
    name, _, value = str(text).rpartition("=")
    if not name:
        raise MoteError(f"'{text}' is not NAME=VALUE", where="option set", remedy=SET)
    if value.endswith(".npy"):
        return name, np.load(BytesIO(read_file(value)), allow_pickle=False)
    parts = [_number(name, part) for part in value.split(",")]
    return name, parts[0] if len(parts) == 1 else parts


def _number(name: str, text: str) -> int | float:
    with suppress(ValueError):
        return int(text)
    with suppress(ValueError):
        return float(text)
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    raise MoteError(f"'{text}' is not a value of '{name}'", where="option set", remedy=SET)


def _numbers(name: Any, value: Any) -> Any:
    """A value as JSON types."""
    with suppress(ValueError, TypeError):
        array = np.asarray(value)
        if array.dtype.kind in "biuf" and array.size:
            return array.tolist()
    raise MoteError(f"the value of '{name}' is not numbers", where="option set", remedy=SET)


def _named_shape(text: Any) -> tuple[str, list[str]]:
    """An input and its shape; an input's name may contain an equals sign."""
    name, _, shape = str(text).rpartition("=")
    if not name:
        raise MoteError(f"'{text}' is not NAME=SHAPE", where="option shape", remedy="write it like input=1,3,96,96")
    return name, re.split("[,x]", shape)


def _shape(name: Any, shape: Any) -> tuple[int, ...]:
    try:
        sizes = tuple(int(size) for size in shape)
    except (TypeError, ValueError):
        sizes = (0,)
    if any(size < 1 for size in sizes):
        shown = ",".join(map(str, shape)) if isinstance(shape, Iterable) else shape
        raise MoteError(
            f"'{shown}' is not the shape of '{name}'", where="option shape", remedy="write it like input=1,3,96,96"
        )
    return sizes


def wrong_value(option: str, value: object, what: str) -> MoteError:
    return MoteError(f"{value!r} is not {what}", where=f"option {option}")
