"""The description of a layer in a `.keras` file, with errors where it is malformed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.keras.archive import DamagedArchiveError
from mote.ir.graph.tensor import Array, Shape

MISSING = object()
NETWORKS = {"Functional", "Model", "Sequential"}
FLOAT32_MAX = float(np.finfo(np.float32).max)
CLASSES = {"GroupQueryAttention": "GroupedQueryAttention"}
"""Layers whose class has another name than the public one; weights are stored under the class name."""
OPERATIONS = "keras.src.ops"
"""Modules of functions that are not layers: they have no weights."""


@dataclass(frozen=True)
class LayerConfig:
    """A layer, or a network, as described by the file: its class, its options, and the weights at its path."""

    said: Mapping[str, Any]
    weights: Mapping[str, Array]
    path: str

    @cached_property
    def kind(self) -> str:
        """The name of its class."""
        return _text(self.said.get("class_name"), "the name of a class")

    @cached_property
    def module(self) -> str:
        return str(self.said.get("module") or "")

    @cached_property
    def options(self) -> Mapping[str, Any]:
        return _mapping(self.said.get("config"), f"the options of a {self.kind}")

    @cached_property
    def name(self) -> str:
        return str(self.said.get("name") or self.options.get("name") or self.kind)

    @property
    def is_operation(self) -> bool:
        """Whether it is a function, not a layer."""
        return self.module.startswith(OPERATIONS)

    @cached_property
    def library(self) -> str:
        """The package of its class; empty where somebody else has registered the class."""
        registered = self.said.get("registered_name")
        package = self.module.partition(".")[0]
        foreign = isinstance(registered, str) and ">" in registered and not registered.startswith(package)
        return "" if foreign else package

    @property
    def is_own(self) -> bool:
        """Whether it is a class of Keras itself."""
        return self.library == "keras"

    def get(self, option: str, default: Any = MISSING) -> Any:
        value = self.options.get(option, default)
        if value is MISSING:
            raise DamagedArchiveError(f"'{self.name}' lacks the option {option}")
        return value

    def integer(self, option: str, default: Any = MISSING) -> int:
        return _integer(self.get(option, default), f"{option} of '{self.name}'")

    def integers(self, option: str, count: int, default: Any = MISSING) -> Shape:
        """Integers, one for each of some axes; a single one applies to all."""
        value = self.get(option, default)
        if not isinstance(value, list | tuple):
            value = [value] * count
        numbers = tuple(_integer(n, f"{option} of '{self.name}'") for n in value)
        if len(numbers) != count:
            raise DamagedArchiveError(f"{option} of '{self.name}' has {len(numbers)} integers, not {count}")
        return numbers

    def list_of_integers(self, option: str) -> Shape:
        """A list of integers; a single one need not be in a list."""
        value = self.get(option)
        value = value if isinstance(value, list | tuple) else [value]
        return tuple(_integer(n, f"{option} of '{self.name}'") for n in value)

    def real(self, option: str, default: Any = MISSING) -> float:
        value = self.get(option, default)
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise DamagedArchiveError(f"{option} of '{self.name}' is not a number")
        if not -FLOAT32_MAX <= value <= FLOAT32_MAX:
            raise DamagedArchiveError(f"{option} of '{self.name}' is out of range for float32")
        return float(value)

    def flag(self, option: str, default: Any = MISSING) -> bool:
        """A boolean, for which scripts may have given Keras 0 or 1."""
        value = self.get(option, default)
        if value not in (True, False):
            raise DamagedArchiveError(f"{option} of '{self.name}' is neither true nor false")
        return bool(value)

    def text(self, option: str, default: Any = MISSING) -> str:
        return _text(self.get(option, default), f"{option} of '{self.name}'")

    def child(self, attribute: str, said: Any) -> LayerConfig:
        """A layer inside of this one, stored under a name."""
        told = _mapping(said, f"the {attribute} of '{self.name}'")
        return LayerConfig(told, self.weights, f"{self.path}{attribute}/")

    def children(self, attribute: str = "layers") -> list[LayerConfig]:
        """The layers of a network: weights are stored under class names with a counter."""
        said = self.get(attribute)
        if not isinstance(said, Sequence) or isinstance(said, str):
            raise DamagedArchiveError(f"the {attribute} of '{self.name}' are not a list")
        used: dict[str, int] = {}
        layers = []
        for told in said:
            layer = self.child(attribute, told)
            path = f"{self.path}{attribute}/"
            if not layer.is_operation:
                path += f"{_unique(snake_case(CLASSES.get(layer.kind, layer.kind)), used)}/"
            layers.append(LayerConfig(layer.said, self.weights, path))
        return layers

    def weight(self, number: int | str, shape: Sequence[int | None], what: str) -> Array:
        """A weight by its number; its shape is checked but for unknown sizes."""
        path = f"{self.path}vars/{number}"
        if path not in self.weights:
            raise DamagedArchiveError(f"the {what} of '{self.name}' is missing: there is no {path}")
        array = self.weights[path]
        fits = len(array.shape) == len(shape) and all(n in (None, m) for n, m in zip(shape, array.shape, strict=True))
        if not fits:
            wanted = "x".join("?" if n is None else str(n) for n in shape) or "one number"
            has = "x".join(map(str, array.shape)) or "one number"
            raise DamagedArchiveError(f"the {what} of '{self.name}' is {has}, not {wanted}")
        if array.dtype.kind not in "fiub":
            raise UnsupportedNodeError(f"its {what} has type {array.dtype}")
        return array

    def check_type(self) -> str:
        """Refuse layers that Keras itself quantized; returns the name of the compute type."""
        policy = self.options.get("dtype")
        told = policy if isinstance(policy, Mapping) else {"config": {"name": policy}}
        kind = str(told.get("class_name", ""))
        options = told.get("config")
        name = str(options.get("name", "")) if isinstance(options, Mapping) else ""
        if "Quantized" in kind or name.startswith(("int8", "int4", "float8", "gptq", "awq")):
            raise UnsupportedNodeError(
                f"it is quantized by Keras ({name or kind}), which computes the input scale in every inference"
            )
        return name


def snake_case(name: str) -> str:
    """The snake-case name under which Keras stores weights of a class."""
    plain = re.sub(r"\W+", "", name)
    words = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", plain)
    return re.sub("([a-z])([A-Z])", r"\1_\2", words).lower()


def _unique(name: str, used: dict[str, int]) -> str:
    if name in used:
        used[name] += 1
        return f"{name}_{used[name]}"
    used[name] = 0
    return name


def _text(text: Any, what: str) -> str:
    if not isinstance(text, str):
        raise DamagedArchiveError(f"{what} is not a string")
    return text


def _integer(number: Any, what: str) -> int:
    if isinstance(number, bool) or not isinstance(number, int):
        raise DamagedArchiveError(f"{what} is not an integer")
    return number


def _mapping(mapping: Any, what: str) -> Mapping[str, Any]:
    if not isinstance(mapping, Mapping):
        raise DamagedArchiveError(f"{what} are missing")
    return mapping
