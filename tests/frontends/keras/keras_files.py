"""`.keras` files, made without Keras."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

import numpy as np
import pytest

from mote.ir.graph.tensor import Array

Weights = Mapping[str, Array]


def layer(kind: str, name: str, *, module: str = "keras.layers", **options: Any) -> dict[str, Any]:
    return {"module": module, "class_name": kind, "config": {"name": name, **options}, "registered_name": None}


def tensor(name: str, node: int = 0, place: int = 0, shape: Sequence[int | None] | None = None) -> dict[str, Any]:
    config = {"shape": shape, "dtype": "float32", "keras_history": [name, node, place]}
    return {"class_name": "__keras_tensor__", "config": config}


def called(said: dict[str, Any], *args: Any, **kwargs: Any) -> dict[str, Any]:
    """A layer with one call of it, or with one more."""
    nodes = [*said.get("inbound_nodes", []), {"args": list(args), "kwargs": kwargs}]
    return {**said, "name": said["config"]["name"], "inbound_nodes": nodes}


def given(name: str, *shape: int | None, **options: Any) -> dict[str, Any]:
    return layer("InputLayer", name, batch_shape=[None, *shape], dtype="float32", **options)


def sequential(*layers: dict[str, Any], name: str = "row") -> dict[str, Any]:
    return layer("Sequential", name, module="keras", layers=list(layers))


def functional(layers: Sequence[dict[str, Any]], inputs: Any, outputs: Any, name: str = "net") -> dict[str, Any]:
    calls = [called(x) | {"inbound_nodes": x.get("inbound_nodes", [])} for x in layers]
    return layer("Functional", name, module="keras", layers=calls, input_layers=inputs, output_layers=outputs)


def stored(weights: Weights) -> bytes:
    """An HDF5 file; a test that asks for it is skipped without h5py."""
    h5py = pytest.importorskip("h5py")
    file = BytesIO()
    with h5py.File(file, "w") as made:
        for path, value in weights.items():
            made[path] = value
    return file.getvalue()


def keras_file(config: Any, weights: Weights | bytes = {}, *, without: str = "", version: str = "3.15.1") -> bytes:  # noqa: B006
    """The archive, perhaps without one of its members."""
    members = {
        "metadata.json": json.dumps({"keras_version": version}).encode(),
        "config.json": config if isinstance(config, bytes) else json.dumps(config).encode(),
        "model.weights.h5": weights if isinstance(weights, bytes) else stored(weights),
    }
    file = BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            if name != without:
                archive.writestr(name, data)
    return file.getvalue()


def dense(name: str, units: int, **options: Any) -> dict[str, Any]:
    return layer("Dense", name, units=units, use_bias=True, **{"activation": "linear", **options})


def dense_weights(path: str, inputs: int, units: int, seed: int = 0) -> dict[str, Array]:
    rng = np.random.default_rng(seed)
    kernel, bias = rng.normal(size=(inputs, units)), rng.normal(size=units)
    return {f"{path}/vars/0": kernel.astype(np.float32), f"{path}/vars/1": bias.astype(np.float32)}
