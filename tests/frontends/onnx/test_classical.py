"""Classical models as the converters of scikit-learn write them, and every operator of ai.onnx.ml by itself, against
ONNX Runtime."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

pytest.importorskip("onnx")
pytest.importorskip("onnxruntime", reason="ONNX Runtime is the judge")
pytest.importorskip("sklearn", reason="the models come from scikit-learn")

from onnx import TensorProto, helper

import mote
from mote.frontends.onnx import read
from mote.frontends.onnx.node import ML
from mote.ir.graph.tensor import Array
from tests.frontends.onnx.onnx_support import graph_of, judged, outputs_of, source_of
from tests.frontends.sklearn.estimators import fitted, inputs

MODELS = (
    *("linear, two outputs", "logistic", "logistic, names", "linear svc, two classes", "qda", "svc, linear"),
    *("svc, sigmoid", "svc, two classes", "svc, ties broken", "nu svr", "one class", "k-means", "gaussian bayes"),
    *("normalizer, max", "imputer", "one-hot", "ordinal", "interactions", "pipeline", "columns"),
    *("one against the rest",),
)
SAMPLES = 12


def compare(got: list[Array], want: list[Any], names: Any = None) -> None:
    """Whole numbers are equal, others near. A mapping of classes is the scores of them, a name the index of it."""
    for ours, theirs in zip(got, want, strict=True):
        if isinstance(theirs, list) or theirs.dtype == object:
            theirs = np.array([list(row.values()) for row in theirs]) if isinstance(theirs[0], dict) else theirs
        if np.asarray(theirs).dtype.kind in "OU":
            theirs = np.searchsorted(names, theirs)
        assert ours.shape == theirs.shape
        if theirs.dtype.kind in "iu":
            assert np.array_equal(ours, theirs)
        else:
            np.testing.assert_allclose(ours, theirs, rtol=2e-5, atol=2e-5 * max(1.0, float(np.abs(theirs).max())))


def exported(name: str, x: Array) -> Any:
    """An estimator as the converter writes it."""
    from skl2onnx import to_onnx

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return to_onnx(fitted(name), x)


@pytest.mark.frontends
@pytest.mark.parametrize("name", MODELS)
def test_models(name: str) -> None:
    estimator = fitted(name)
    x = inputs(name, estimator, SAMPLES)
    model = exported(name, x[:1])
    data = model.SerializeToString()
    graph, given = graph_of(data), model.graph.input[0].name
    for row in x:
        values = {given: row[None]}
        compare(outputs_of(graph, values), judged(data, values), getattr(estimator, "classes_", None))


@pytest.mark.frontends
def test_neighbours_are_one_operator() -> None:
    """The converter writes a loop over all samples."""
    name = "neighbours by distance"
    data = exported(name, inputs(name, fitted(name), 1)).SerializeToString()
    partial = read(source_of(data)).partial()
    assert partial.ops[0].kind == "DISTANCES" and len(partial.ops) < 60


def node_of(op: str, given: Mapping[str, int], outputs: int = 1, **attributes: Any) -> bytes:
    """A model of one operator on inputs of one row, of that many numbers."""
    names = [f"y{i}" for i in range(outputs)]
    node = helper.make_node(op, list(given), names, domain=ML, **attributes)
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, [1, count]) for n, count in given.items()]
    graph = helper.make_graph([node], "one", infos, [helper.make_empty_tensor_value_info(n) for n in names])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


RNG = np.random.default_rng(4)


def numbers(*shape: int) -> list[float]:
    return [float(x) for x in RNG.normal(size=shape).astype(np.float32).reshape(-1)]


MACHINE = {"support_vectors": numbers(7, 4), "kernel_params": [0.3, 0.5, 2.0]}
NODES: list[tuple[str, int, dict[str, Any]]] = [
    ("LinearRegressor", 1, {"coefficients": numbers(3, 4), "targets": 3, "post_transform": "LOGISTIC"}),
    ("LinearClassifier", 2, {"coefficients": numbers(3, 4), "intercepts": numbers(3), "classlabels_ints": [5, 7, 2]}),
    (
        "LinearClassifier",
        2,
        {
            "coefficients": numbers(3, 4),
            "classlabels_ints": [0, 1, 2],
            "intercepts": numbers(3),
            "post_transform": "SOFTMAX",
        },
    ),
    ("SVMRegressor", 1, {**MACHINE, "coefficients": numbers(7), "rho": [0.1], "n_supports": 7, "kernel_type": "POLY"}),
    (
        "SVMRegressor",
        1,
        {
            "coefficients": numbers(4),
            "rho": [0.1],
            "one_class": 1,
            "kernel_type": "LINEAR",
            "kernel_params": [1.0, 0.0, 3.0],
        },
    ),
    (
        "SVMClassifier",
        2,
        {
            **MACHINE,
            "coefficients": numbers(2, 7),
            "rho": numbers(3),
            "vectors_per_class": [3, 2, 2],
            "classlabels_ints": [4, 5, 9],
            "kernel_type": "RBF",
        },
    ),
    ("Scaler", 1, {"offset": numbers(4), "scale": numbers(4)}),
    ("Normalizer", 1, {"norm": "L1"}),
    ("Normalizer", 1, {"norm": "MAX"}),
    ("Binarizer", 1, {"threshold": 0.25}),
    ("Imputer", 1, {"imputed_value_floats": numbers(4), "replaced_value_float": 0.0}),
    ("Imputer", 1, {"imputed_value_floats": [7.0], "replaced_value_float": float("nan")}),
    ("LabelEncoder", 1, {"keys_floats": [0.0, 1.0, 2.0], "values_floats": [4.5, 2.0, 8.0], "default_float": -3.0}),
    ("LabelEncoder", 1, {"keys_floats": [0.0, 1.0], "values_int64s": [40, 41], "default_int64": -1}),
    ("OneHotEncoder", 1, {"cats_int64s": [0, 2, 1]}),
]


@pytest.mark.parametrize(("op", "outputs", "attributes"), NODES)
def test_operators(op: str, outputs: int, attributes: dict[str, Any]) -> None:
    data = node_of(op, {"x": 4}, outputs, **attributes)
    graph = graph_of(data)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        whole = op in ("LabelEncoder", "OneHotEncoder")
        x = rng.integers(0, 4, (1, 4)).astype(np.float32) if whole else rng.normal(size=(1, 4)).astype(np.float32)
        if op == "Imputer":
            x[0, seed % 4] = np.float32(attributes["replaced_value_float"])
        compare(outputs_of(graph, {"x": x}), judged(data, {"x": x}))


def test_vectors_side_by_side() -> None:
    data = node_of("FeatureVectorizer", {"a": 2, "b": 3}, inputdimensions=[2, 3])
    values = {"a": np.ones((1, 2), np.float32), "b": np.full((1, 3), 2, np.float32)}
    compare(outputs_of(graph_of(data), values), judged(data, values))


@pytest.mark.parametrize(
    ("op", "attributes", "said"),
    [
        ("LinearClassifier", {"coefficients": numbers(1, 4), "classlabels_ints": [0, 1]}, "a single score"),
        ("LinearClassifier", {"coefficients": numbers(5), "classlabels_ints": [0, 1]}, "do not fit 4 features"),
        ("LinearRegressor", {"coefficients": numbers(4), "post_transform": "PROBIT"}, "PROBIT of scores"),
        ("LabelEncoder", {"keys_strings": ["a"], "values_int64s": [1]}, "only numeric keys and values"),
        ("OneHotEncoder", {"cats_strings": ["a"]}, "strings are not supported"),
        ("Normalizer", {"norm": "L3"}, "norm L3"),
        ("Scaler", {"scale": numbers(3)}, "3 values of scale do not fit 4 features"),
        (
            "SVMClassifier",
            {**MACHINE, "coefficients": numbers(7), "rho": [0.1], "vectors_per_class": [3, 4], "prob_a": [1.0]},
            "probabilities of support vector machines",
        ),
        (
            "SVMClassifier",
            {**MACHINE, "coefficients": numbers(7), "rho": [0.1, 2.0], "vectors_per_class": [3, 4]},
            "do not fit its vectors",
        ),
    ],
)
def test_what_is_refused(op: str, attributes: dict[str, Any], said: str) -> None:
    model = read(source_of(node_of(op, {"x": 4}, 2 if "Classifier" in op else 1, **attributes)))
    assert [said in problem.reason for problem in model.problems] == [True], model.problems


def named(names: list[str]) -> bytes:
    """A classifier with names of classes, and a mapping of them to scores."""
    numbers_ = {"coefficients": numbers(3, 4), "intercepts": numbers(3)}
    nodes = [
        helper.make_node("LinearClassifier", ["x"], ["y", "s"], domain=ML, classlabels_strings=names, **numbers_),
        helper.make_node("ZipMap", ["s"], ["z"], domain=ML, classlabels_strings=names),
    ]
    given = [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 4])]
    graph = helper.make_graph(nodes, "one", given, [helper.make_empty_tensor_value_info(n) for n in "yz"])
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 3)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8).SerializeToString()


def test_names_of_classes_are_indices() -> None:
    """Names and mappings that ONNX Runtime gives are compared with indices and vectors, in the order of the file."""
    compiled = mote.compile(named(["walk", "rest", "run"]))
    result = mote.verify(compiled, 4)
    assert result.passed and result.reference.startswith("ONNX Runtime"), result
    assert "'y' is an index of the classes walk, rest, run" in compiled.warnings
