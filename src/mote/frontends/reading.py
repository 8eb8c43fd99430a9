"""Options for reading a model file: shapes of inputs, values of inputs that are constant, outputs to keep."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from io import BytesIO
from typing import Any

import numpy as np

from mote.base.errors import MoteError
from mote.base.files import read_file
from mote.base.option import Notation, option, rows
from mote.frontends import EDGES, FEATURES

SET = "write it like sr=16000, h=0,0,0 or h=file.npy"


def reading(shapes: Any = (), signature: str = "", constants: Any = ()) -> dict[str, Any]:
    """The options for reading a model, as `source_of` takes them."""
    return {
        "shapes": parsed_shapes("shapes", shapes),
        "signature": signature,
        "constants": parsed_constants("constants", constants),
    }


def parsed_shapes(option: str, shapes: Any) -> dict[str, tuple[int, ...]]:
    """Shapes by input name, from a mapping or strings."""
    if isinstance(shapes, str) or not isinstance(shapes, Iterable):
        raise wrong_value(option, shapes, 'a mapping {input: shape} or a list of "NAME=1,3,96,96"')
    by_name = dict(shapes) if isinstance(shapes, Mapping) else dict(map(_named_shape, shapes))
    return {str(name): _shape(name, shape) for name, shape in by_name.items()}


def parsed_constants(option: str, constants: Any) -> dict[str, Any]:
    """Values of inputs by name, from a mapping or strings, as numbers and lists."""
    if isinstance(constants, str) or not isinstance(constants, Iterable):
        raise wrong_value(option, constants, 'a mapping {input: value} or a list of "NAME=VALUE"')
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


def names(option: str, given: Any) -> tuple[str, ...]:
    """Names, or one name."""
    if not isinstance(given, str | Iterable):
        raise wrong_value(option, given, "a list of names")
    return (given,) if isinstance(given, str) else tuple(map(str, given))


SHAPES = Notation("Mapping[str, Sequence[int]] | Sequence[str]", parsed_shapes)
CONSTANTS = Notation("Mapping[str, Any] | Sequence[str]", parsed_constants)
NAMES = Notation("str | Sequence[str]", names)


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How a model file is read."""

    shapes: Mapping[str, tuple[int, ...]] = option({}, "model", "NAME=1,3,96,96", flag="shape", written=SHAPES, help=
        "shape of an input: where the model leaves it open, or to override it; repeatable")  # fmt: skip
    constants: Mapping[str, Any] = option({}, "model", "NAME=VALUE", flag="set", written=CONSTANTS, help=
        "compile an input as a constant: one number, comma-separated numbers, or a .npy file; repeatable",
        )  # fmt: skip
    signature: str = option("", "model", "NAME", help="signature to compile, for a .tflite file with several")
    outputs: tuple[str, ...] = option((), "model", "NAME", written=NAMES, help="compute only this output; repeatable")
    edges: str = option(EDGES[0], "model", choices=EDGES, help=
        "memory layout of image inputs and outputs: channels last (NHWC), as the kernels take them (default), or as in"
        " the model")  # fmt: skip
    features: str = option(FEATURES[0], "model", choices=FEATURES, help=
        "element type of the features of a tree ensemble (default: float32)")  # fmt: skip


READING = rows(ReadOptions)
"""The options for reading a model."""
BESIDE_MODELS = ("shapes", "constants", "signature")
"""Options that all functions and commands have which read one."""
