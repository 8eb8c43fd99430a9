"""Models that are Python objects: each is converted to the file that its own library writes."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from mote.base.errors import MoteError
from mote.base.extras import quiet
from mote.base.files import temporary_folder
from mote.frontends.source import Format, Source
from mote.frontends.torch.export import exported, refuse_weights, saved
from mote.frontends.trees import boosters

KNOWN = (
    "give the path of a model file, its bytes, a module or exported program of PyTorch, a model of Keras or ONNX, an"
    " estimator of scikit-learn, or a booster of XGBoost or LightGBM"
)


def from_object(model: Any, example_inputs: Any = None) -> Source:
    """The source of an object, detected by the classes that it inherits from, without imports. `example_inputs` are for
    PyTorch modules, which do not record their input shapes."""
    classes = {f"{c.__module__.partition('.')[0]}.{c.__name__}" for c in type(model).__mro__}
    for wanted, make in _MAKERS:
        if classes & wanted:
            if example_inputs is not None and make is not _module:
                raise MoteError(
                    f"a {type(model).__name__} already defines its inputs",
                    where="option example_inputs",
                    remedy="omit it; shapes={...} gives inputs other shapes",
                )
            return _module(model, example_inputs) if make is _module else make(model)
    refuse_weights(model)
    raise MoteError(f"a {type(model).__name__} is not a model", remedy=KNOWN)


def _module(module: Any, example_inputs: Any) -> Source:
    program = exported(module, example_inputs)
    return Source(type(module).__name__, Format.TORCH, saved(program), origin=program)


def _program(program: Any) -> Source:
    return _module(program, None)


def _keras(model: Any) -> Source:
    """Keras saves to paths only."""
    with temporary_folder() as folder:
        path = folder / "model.keras"
        try:
            with quiet():
                model.save(path)
        except Exception as error:
            raise MoteError(f"Keras does not save it: {_first_line(error)}", where=str(model.name)) from error
        return Source(str(model.name), Format.KERAS, path.read_bytes(), origin=model)


def _onnx(model: Any) -> Source:
    return Source(str(model.graph.name) or "model", Format.ONNX, model.SerializeToString(), origin=model)


def _sklearn(model: Any) -> Source:
    """The source of an estimator: it has no file format but pickle, which is made to tell estimators apart, and never
    loaded."""
    name = type(model).__name__
    try:
        return Source(name, Format.SKLEARN, pickle.dumps(model, protocol=5), origin=model)
    except Exception as error:
        raise MoteError(
            f"the estimator cannot be pickled: {_first_line(error)}",
            where=name,
            remedy="remove its Python functions: they cannot be compiled",
        ) from error


def _first_line(error: Exception) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


_MAKERS: tuple[tuple[set[str], Callable[..., Source]], ...] = (
    ({"keras.Model", "tf_keras.Model"}, _keras),
    ({"torch.Module"}, _module),
    ({"torch.ExportedProgram"}, _program),
    ({"onnx.ModelProto"}, _onnx),
    ({"xgboost.Booster", "xgboost.XGBModel"}, boosters.of_xgboost),
    ({"lightgbm.Booster", "lightgbm.LGBMModel"}, boosters.of_lightgbm),
    ({"sklearn.BaseEstimator"}, _sklearn),
)
"""Model classes by package and name, and the function that makes a source of each. Estimators of XGBoost and LightGBM
are scikit-learn estimators as well, and Keras models are PyTorch modules with that backend, so these come first."""
