"""XGBoost and LightGBM as the reference of `verify`."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from typing import Any

import numpy as np

from mote.base.extras import installed, quiet, refusals, require, version_of
from mote.frontends.source import Format, Source
from mote.frontends.trees import lightgbm, xgboost
from mote.frontends.trees.files import INPUT
from mote.frontends.trees.forest import TreeEnsemble
from mote.ir.graph.tensor import Array

Run = Callable[[Mapping[str, Array]], Mapping[str, Array]]
Predict = Callable[[Array], Array]


def reference(source: Source, names: Collection[str]) -> tuple[str, Run] | None:
    """The library of the model, and a function that computes its outputs."""
    package = str(source.format)
    if not installed(package):
        return None
    made = _xgboost if source.format is Format.XGBOOST else _lightgbm
    described = (xgboost if source.format is Format.XGBOOST else lightgbm).forest_of(source)
    with quiet(), refusals(source.title):
        predict = made(source)

    def run(inputs: Mapping[str, Array]) -> dict[str, Array]:
        with quiet(), refusals(source.title):
            outputs = _outputs(described, np.asarray(predict(inputs[INPUT].astype(np.float32)), np.float64))
        return {name: value for name, value in outputs.items() if name in names}

    return f"{source.title} {version_of(package)}", run


def _outputs(described: TreeEnsemble, said: Array) -> dict[str, Array]:
    """The library's predictions, by output name."""
    if described.classes is None:
        return {"prediction": said}
    shares = np.stack([1 - said, said], axis=1) if said.ndim == 1 else said
    label = np.asarray(said > 0.5) if said.ndim == 1 else np.argmax(said, axis=1)
    return {"label": label.astype(np.int32), "probabilities": shares}


def _xgboost(source: Source) -> Predict:
    """Class probabilities, also where the objective predicts the class alone."""
    package = require("xgboost")
    booster: Any = package.Booster()
    booster.load_model(bytearray(source.data))
    single = "multi:softmax" in booster.save_config()
    if single:
        booster.set_param({"objective": "multi:softprob"})
    best = booster.attr("best_iteration") if hasattr(source.origin, "get_booster") else None
    kept = (0, int(best) + 1) if best is not None else (0, 0)
    missing = getattr(source.origin, "missing", None)

    def predict(x: Array) -> Array:
        given = package.DMatrix(
            x,
            missing=np.nan if missing is None else missing,
            feature_names=booster.feature_names,
            feature_types=booster.feature_types,
            enable_categorical=True,
        )
        return np.asarray(booster.predict(given, iteration_range=kept))

    return predict


def _lightgbm(source: Source) -> Predict:
    booster: Any = require("lightgbm").Booster(model_str=source.data.decode())
    return lambda x: np.asarray(booster.predict(x))
