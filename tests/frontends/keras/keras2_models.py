"""Files of Keras 2 as it writes them, layer by layer; and what the graph that is read from one computes."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
import pytest

from mote.frontends import load
from mote.ir.graph.tensor import Array

h5py = pytest.importorskip("h5py")
Stored = Mapping[str, Sequence[tuple[str, Array]]]
"""The weights of each layer, in order, by the names that Keras 2 gives them."""
RNG = np.random.default_rng(7)


def some(*shape: int, low: float = -1.0) -> Array:
    return RNG.uniform(low, 1.0, shape).astype(np.float32)


def layer(kind: str, name: str, *nodes: Any, **options: Any) -> dict[str, Any]:
    """A layer, and what it is called with."""
    said: dict[str, Any] = {
        "class_name": kind,
        "config": {"name": name, "trainable": True, "dtype": "float32", **options},
    }
    return said | ({"name": name, "inbound_nodes": list(nodes)} if nodes else {})


def taken(name: str, *shape: int) -> dict[str, Any]:
    options = {"batch_input_shape": [None, *shape], "dtype": "float32", "sparse": False, "ragged": False, "name": name}
    return {"class_name": "InputLayer", "config": options, "name": name, "inbound_nodes": []}


def functional(
    layers: Sequence[Any], inputs: Sequence[str], outputs: Sequence[Any], name: str = "model"
) -> dict[str, Any]:
    ends = [x if isinstance(x, list) else [x, 0, 0] for x in outputs]
    options = {"name": name, "layers": list(layers), "input_layers": [[x, 0, 0] for x in inputs], "output_layers": ends}
    return {"class_name": "Functional", "config": options}


def of(layer_name: str, call: int = 0, place: int = 0, **kwargs: Any) -> list[Any]:
    return [layer_name, call, place, kwargs]


def h5_file(config: Any, layers: Stored, version: str = "2.13.1", *, parts: int = 1) -> bytes:
    """The file, whose lists of names are in one attribute or in several."""
    file = BytesIO()
    with h5py.File(file, "w") as made:
        made.attrs["backend"], made.attrs["keras_version"] = "tensorflow", version
        made.attrs["model_config"] = json.dumps(config)
        group = made.create_group("model_weights")
        names = [name.encode() for name in layers]
        for i in range(parts):
            group.attrs["layer_names" + (str(i) if parts > 1 else "")] = names[i::parts]
        for name, stored in layers.items():
            inside = group.create_group(name)
            inside.attrs["weight_names"] = [weight.encode() for weight, _ in stored]
            for weight, value in stored:
                inside[weight] = value
        made["optimizer_weights/iterations:0"] = 3
    return file.getvalue()


def dense(name: str, inputs: int, units: int, scope: str = "") -> list[tuple[str, Array]]:
    return [(f"{scope}{name}/kernel:0", some(inputs, units)), (f"{scope}{name}/bias:0", some(units))]


def affine(x: Array, stored: Sequence[tuple[str, Array]]) -> Array:
    found: Array = x @ stored[0][1] + stored[1][1]
    return found


def evaluated(data: bytes, *inputs: Array) -> list[Array]:
    """What the graph that is read computes, by NumPy."""
    graph = load(data)
    values = graph.evaluate(dict(zip(graph.inputs, inputs, strict=True)))
    return [values[t] for t in graph.outputs]


def close(found: Array, wanted: Array) -> None:
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)
