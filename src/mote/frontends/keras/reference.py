"""Keras as the reference of a model: every value of its layers, but not of those inside of nested networks."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from mote.base.extras import installed, quiet, refusals, require, version_of
from mote.base.files import temporary_folder
from mote.frontends.keras.archive import HDF5, opened
from mote.frontends.keras.names import output_names, value_name
from mote.frontends.source import Source
from mote.ir.graph.tensor import Array, Shape
from mote.ir.graph.types import DType

BACKEND = "KERAS_BACKEND"
BACKENDS = ("tensorflow", "torch", "jax")
"""Backends that Keras can use; it takes the first one by default."""

Run = Callable[[Mapping[str, Array]], Mapping[str, Array]]


def reference(source: Source, names: Collection[str]) -> tuple[str, Run] | None:
    """The name of the reference, and a function from inputs by name to values by name; None where Keras is not
    installed, or cannot load an older file."""
    older = opened(source.data).version.startswith("2.")
    if older and installed("tf_keras"):
        package = "tf_keras"
        keras = require(package, what="verifying models of Keras 2")
    else:
        package, backend = "keras", next((package for package in BACKENDS if installed(package)), None)
        if not installed(package) or backend is None:
            return None
        with _backend(backend):
            keras = require(package, what="verifying Keras models")
    with refusals("Keras"), quiet():
        try:
            model: Any = source.origin if source.origin is not None else _loaded(keras, source.data)
        except Exception:
            if older or source.data.startswith(HDF5):
                return None
            raise
        known = _values(model)
        wanted = {name: tensor for name, tensor in known.items() if name in names}
        asked = keras.Model(model.inputs, list(wanted.values()))

    fixed = {
        name: constant.array(_shape(source, name, tensor), DType(str(tensor.dtype)))
        for name, tensor in zip(_input_names(model), model.inputs, strict=True)
        for constant in source.constants
        if constant.name == name
    }

    def run(inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        with refusals("Keras"), quiet():
            given = [np.asarray({**inputs, **fixed}[name]) for name in _input_names(model)]
            results = asked(given if len(given) > 1 else given[0], training=False)
            arrays = results if isinstance(results, list | tuple) else [results]
            return {name: _array(keras, x) for name, x in zip(wanted, arrays, strict=True)}

    return f"Keras {version_of(package)} on {keras.backend.backend()}", run


def _array(keras: Any, tensor: Any) -> Array:
    """A result as an array; those of Keras 2 are TensorFlow tensors."""
    return np.asarray(tensor if not hasattr(keras, "ops") else keras.ops.convert_to_numpy(tensor))


def _shape(source: Source, name: str, tensor: Any) -> Shape:
    """The shape of an input, with a batch of 1."""
    return dict(source.shapes).get(name) or tuple(1 if n is None else n for n in tensor.shape)


def _input_names(model: Any) -> list[str]:
    return [_maker(tensor).name for tensor in model.inputs]


def _maker(tensor: Any) -> Any:
    """The layer that computes a tensor, which Keras 3 calls an operation."""
    history = tensor._keras_history
    return getattr(history, "operation", None) or history.layer


def _loaded(keras: Any, data: bytes) -> Any:
    """A file loaded by Keras in safe mode: code in it is not run."""
    with temporary_folder() as folder:
        path = folder / ("model.h5" if data.startswith(HDF5) else "model.keras")
        path.write_bytes(data)
        return keras.models.load_model(path, compile=False, safe_mode=True)


def _values(model: Any) -> dict[str, Any]:
    """The symbolic values of all calls of layers, by the reader's names for them."""
    network = getattr(model, "_functional", None) or model
    own = {id(node) for nodes in network._nodes_by_depth.values() for node in nodes}
    tensors, names = {}, {}
    for layer in getattr(network, "operations", None) or network.layers:
        for call, node in enumerate(node for node in layer._inbound_nodes if id(node) in own):
            for place, tensor in enumerate(_outputs(node)):
                name = names[id(tensor)] = value_name(layer.name, call, place)
                tensors[name] = tensor
    outputs = [names[id(tensor)] for tensor in network.outputs]
    return tensors | {name: tensors[of] for name, of in zip(output_names(outputs), outputs, strict=True)}


def _outputs(node: Any) -> list[Any]:
    """The outputs of a call of a layer."""
    tensors = node.output_tensors if hasattr(node, "operation") else node.outputs
    return list(tensors) if isinstance(tensors, list | tuple) else [tensors]


@contextmanager
def _backend(package: str) -> Iterator[None]:
    """Select an installed backend of Keras, unless the user has chosen one."""
    chosen = BACKEND in os.environ or "keras" in sys.modules
    if not chosen:
        os.environ[BACKEND] = package
    try:
        yield
    finally:
        if not chosen:
            del os.environ[BACKEND]
