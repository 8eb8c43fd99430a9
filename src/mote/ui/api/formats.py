"""The operators that Mote reads of each model format, by the format's own names."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from typing import Any

from mote.frontends import Format
from mote.ui.api.operators import operators


def _table(module: str, name: str) -> Mapping[Any, Any]:
    """A table of a front end, which is imported for it."""
    table: Mapping[Any, Any] = getattr(import_module(f"mote.frontends.{module}"), name)
    return table


def _onnx() -> Iterable[str]:
    qonnx = import_module("mote.frontends.onnx.qonnx.dialect")
    refused = _table("onnx.ops.refused", "PARSERS")
    known = [key for key in _table("onnx.ops", "PARSERS") if key not in refused]
    known += [(domain, name) for domain in qonnx.CHANNELS_LAST for name in qonnx.LAST_OPERATORS]
    named = (f"{domain}.{name}" if domain else name for domain, name in known)
    return (*named, *_table("onnx.control", "CONTROL"))


def _keras() -> Iterable[str]:
    functions = (f"keras.ops.{name}" for name in _table("keras.layers.operations", "OPERATIONS"))
    of_tensorflow = (f"tf.{name}" for name in _table("keras.layers.tensorflow", "FUNCTIONS"))
    return (*_table("keras.layers", "LAYERS"), *functions, *of_tensorflow)


def _sklearn() -> Iterable[str]:
    return (*_table("sklearn.reader", "PREDICTIONS"), *_table("sklearn.reader", "TRANSFORMS"))


_KNOWN: Mapping[Format, Callable[[], Iterable[str]]] = {
    Format.TFLITE: lambda: (operator.name for operator in operators()),
    Format.ONNX: _onnx,
    Format.TORCH: lambda: _table("torch.ops", "PARSERS"),
    Format.KERAS: _keras,
    Format.SKLEARN: _sklearn,
    Format.XGBOOST: lambda: _table("trees.xgboost", "LINKS"),
    Format.LIGHTGBM: lambda: filter(None, _table("trees.lightgbm", "LINKS")),
}
WHAT = {
    Format.KERAS: "layers",
    Format.SKLEARN: "estimators",
    Format.XGBOOST: "objectives",
    Format.LIGHTGBM: "objectives",
}
"""The kind of things that a format's names denote, where they are not operators."""


def known(format: Format) -> list[str]:
    """The supported operators, layers, estimators or objectives, sorted."""
    return sorted(set(_KNOWN[format]()))
