"""Operators of classical models (ai.onnx.ml) as the converters of scikit-learn write them: linear models, support
vectors, scalers, encoders. Tree ensembles are in a file of their own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import Value, classical, elementwise, indexing, moves, norms, reductions
from mote.frontends.onnx.node import MICROSOFT, ML, Key, Node, Parser
from mote.frontends.remedies import STRINGS
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType
from mote.ir.ops.classical.distances_svm import Metric

KERNELS = {"LINEAR": "linear", "POLY": "poly", "RBF": "rbf", "SIGMOID": "sigmoid"}
"""Kernels of support vector machines, by ONNX's names."""


def real(node: Node, position: int = 0) -> Value:
    """An input as float, with a batch axis."""
    x = elementwise.cast(node.b, node.input(position), DType.FLOAT32)
    return moves.unsqueeze(node.b, x, [0]) if x.rank == 1 else x


def _transformed(node: Node, scores: Value) -> Value:
    """The post-transform of scores."""
    way = node.text("post_transform", "NONE")
    if way == "NONE":
        return scores
    if way == "LOGISTIC":
        return elementwise.sigmoid(node.b, scores)
    if way == "SOFTMAX":
        return norms.softmax(node.b, scores)
    raise UnsupportedNodeError(f"the transformation {way} of scores is not supported (only LOGISTIC and SOFTMAX)")


def _matrix(node: Node, features: int) -> Array:
    """The coefficients of a linear model, [outputs, features]."""
    coefficients = np.array(node.reals("coefficients"), np.float64)
    if coefficients.size == 0 or coefficients.size % features:
        raise UnsupportedNodeError(f"{coefficients.size} coefficients do not fit {features} features")
    return coefficients.reshape(-1, features)


def _bias(node: Node, outputs: int) -> Array | None:
    intercepts = np.array(node.reals("intercepts", ()), np.float64)
    if intercepts.size not in (0, outputs):
        raise UnsupportedNodeError(f"{intercepts.size} intercepts do not fit {outputs} outputs")
    return intercepts if intercepts.size else None


def linear_regressor(node: Node) -> Value:
    x = real(node)
    matrix = _matrix(node, x.shape[-1])
    if node.integer("targets", 1) != len(matrix):
        raise UnsupportedNodeError(f"coefficients for {len(matrix)} targets, not {node.integer('targets')}")
    return _transformed(node, classical.affine(node.b, x, matrix, _bias(node, len(matrix))))


def linear_classifier(node: Node) -> tuple[Value, Value]:
    """The class with the largest score. A single score decides between two classes."""
    x = real(node)
    matrix = _matrix(node, x.shape[-1])
    scores = classical.affine(node.b, x, matrix, _bias(node, len(matrix)))
    if len(matrix) == 1:
        raise UnsupportedNodeError("a single score for two classes is not supported: give each class one")
    return labels(node, classical.best(node.b, scores)), _transformed(node, scores)


def labels(node: Node, indices: Value) -> Value:
    """The class labels at some indices. String labels stay indices: C code returns no strings."""
    names = [n for a in ("classlabels_strings", "classlabels_string") if node.given(a) for n in node.texts(a)]
    if names:
        listed = ", ".join(names[:12]) + (", .." if len(names) > 12 else "")
        node.b.warnings.append(f"'{node.call.outputs[0]}' is an index of the classes {listed}")
        return elementwise.cast(node.b, indices, DType.INT64)
    given = next((a for a in ("classlabels_ints", "classlabels_int64s") if node.given(a)), None)
    numbers = None if given is None else node.integers(given)
    if numbers is None or numbers == list(range(len(numbers))):
        return elementwise.cast(node.b, indices, DType.INT64)
    return indexing.gather(node.b, node.b.constant(np.array(numbers, np.int64)), 0, indices)


def _machine(node: Node, x: Value, counts: Sequence[int] | None) -> Value:
    """The pairwise decision values of support vectors; a single sum without classes."""
    kernel = node.text("kernel_type", "LINEAR")
    if kernel not in KERNELS:
        raise UnsupportedNodeError(f"the kernel {kernel} is not supported (only {', '.join(KERNELS)})")
    gamma, offset, degree = (*node.reals("kernel_params", (0.0, 0.0, 3.0)), 0.0, 0.0, 3.0)[:3]
    if kernel == "POLY" and degree != int(degree):
        raise UnsupportedNodeError(f"a polynomial of degree {degree} is not supported (only integers)")
    coefficients = np.array(node.reals("coefficients"), np.float64)
    rho = np.array(node.reals("rho"), np.float64)
    vectors = np.array(node.reals("support_vectors", ()), np.float64)
    if not vectors.size or vectors.size % x.shape[-1]:
        raise UnsupportedNodeError(f"support vectors of {vectors.size} values do not fit {x.shape[-1]} features")
    vectors = vectors.reshape(-1, x.shape[-1])
    owners = [len(vectors), 0] if counts is None else list(counts)
    pairs = len(owners) * (len(owners) - 1) // 2
    if coefficients.size != len(vectors) * (len(owners) - 1) or rho.size != pairs or sum(owners) != len(vectors):
        raise UnsupportedNodeError(f"{coefficients.size} coefficients and {rho.size} intercepts do not fit its vectors")
    return classical.decisions(
        node.b,
        x,
        KERNELS[kernel],
        vectors,
        coefficients.reshape(len(owners) - 1, -1),
        rho,
        owners,
        gamma=gamma,
        offset=offset,
        degree=int(degree),
    )


def svm_regressor(node: Node) -> Value:
    """SVMRegressor; with one_class 1 for inliers, else -1."""
    x = real(node)
    if node.integer("n_supports", 0) == 0:
        matrix = _matrix(node, x.shape[-1])
        scores = classical.affine(node.b, x, matrix, np.array(node.reals("rho"), np.float64))
    else:
        scores = _machine(node, x, None)
    if node.flag("one_class", False):
        inside = elementwise.greater(node.b, scores, elementwise.scalar(node.b, 0.0))
        scores = elementwise.scaled(node.b, elementwise.cast(node.b, inside, DType.FLOAT32), 2, -1)
    return _transformed(node, scores)


def svm_classifier(node: Node) -> tuple[Value, Value]:
    """One-against-one voting. The scores of two classes are the decision value and its negative."""
    x = real(node)
    counts = node.integers("vectors_per_class", ())
    if len(counts) < 2:
        raise UnsupportedNodeError("a machine without support vectors, or for one class, is not supported")
    if node.given("prob_a"):
        raise UnsupportedNodeError("probabilities of support vector machines are not supported: fit it without them")
    decided = _machine(node, x, counts)
    won = classical.votes(node.b, decided, len(counts))
    label = labels(node, classical.best(node.b, won))
    if len(counts) == 2:
        decided = moves.concat(node.b, [elementwise.neg(node.b, decided), decided], -1)
    return label, _transformed(node, decided)


def scaler(node: Node) -> Value:
    x = real(node)
    offset, scale = (np.array(node.reals(name, ()), np.float64) for name in ("offset", "scale"))
    for name, values in (("offset", offset), ("scale", scale)):
        if values.size not in (0, 1, x.shape[-1]):
            raise UnsupportedNodeError(f"{values.size} values of {name} do not fit {x.shape[-1]} features")
    return classical.shifted(node.b, x, offset if offset.size else None, scale if scale.size else None)


def normalizer(node: Node) -> Value:
    """Zero vectors stay zero. The largest element counts with its sign."""
    x, norm = real(node), node.text("norm", "MAX")
    if norm in ("L1", "L2"):
        return classical.normalized(node.b, x, norm.lower())
    if norm != "MAX":
        raise UnsupportedNodeError(f"the norm {norm} is not supported (only MAX, L1, L2)")
    length = reductions.maximum(node.b, x, [-1], True)
    none = elementwise.equal(node.b, length, elementwise.scalar(node.b, 0.0))
    return elementwise.div(node.b, x, elementwise.where(node.b, none, elementwise.scalar(node.b, 1.0), length))


def binarizer(node: Node) -> Value:
    x = node.input()
    exceeds = elementwise.greater(node.b, x, elementwise.scalar(node.b, node.real("threshold", 0.0), x.dtype))
    return elementwise.cast(node.b, exceeds, x.dtype)


def imputer(node: Node) -> Value:
    x = node.input()
    whole = node.given("imputed_value_int64s")
    values = node.integers("imputed_value_int64s") if whole else node.reals("imputed_value_floats")
    if len(values) not in (1, x.shape[-1]):
        raise UnsupportedNodeError(f"{len(values)} values do not fit {x.shape[-1]} features")
    if whole:
        missing: float = node.integer("replaced_value_int64", 0)
    else:
        replaced = node.call.attributes.get("replaced_value_float")
        node.asked.add("replaced_value_float")
        missing = 0.0 if replaced is None else float(replaced.f)
    return classical.filled(node.b, x, np.array(values), missing)


def one_hot_encoder(node: Node) -> Value:
    """One-hot encoding of each element; unknown categories are zeros."""
    x = node.input()
    if not node.given("cats_int64s"):
        raise UnsupportedNodeError("categories that are strings are not supported", STRINGS)
    if not node.flag("zeros", True):
        raise UnsupportedNodeError("unknown categories must be zeros: generated code cannot raise an error")
    return classical.matches(node.b, x, node.integers("cats_int64s"))


def label_encoder(node: Node) -> Value:
    """Numbers mapped to numbers, by a sum over one-hot matches."""
    x = node.input()
    keys, values = (_numbers(node, name) for name in ("keys", "values"))
    if keys is None or values is None or len(keys) != len(values):
        raise UnsupportedNodeError("only numeric keys and values are supported", STRINGS)
    default = _default(node, values)
    if np.abs([*values, default]).max() >= 1 << 24 and not np.issubdtype(values.dtype, np.floating):
        raise UnsupportedNodeError("integers of more than 24 bits are not supported")
    matches = classical.matches(node.b, x, keys.tolist())
    made = classical.affine(node.b, matches, (values.astype(np.float64) - default)[None], np.array([default]))
    dtype = DType.INT64 if values.dtype == np.int64 else DType.FLOAT32
    return elementwise.cast(node.b, moves.reshape(node.b, made, x.shape), dtype)


def _numbers(node: Node, what: str) -> Array | None:
    if node.given(f"{what}_int64s"):
        return np.array(node.integers(f"{what}_int64s"), np.int64)
    if node.given(f"{what}_floats"):
        return np.array(node.reals(f"{what}_floats"), np.float64)
    if node.given(f"{what}_tensor"):
        values = node.array(f"{what}_tensor").reshape(-1)
        if values.dtype.kind in "iuf":
            return values.astype(np.int64 if values.dtype.kind in "iu" else np.float64)
    return None


def _default(node: Node, values: Array) -> float:
    """The default of keys that are not listed."""
    if node.given("default_tensor"):
        return float(node.array("default_tensor").reshape(-1)[0])
    if values.dtype == np.int64:
        return float(node.integer("default_int64", -1))
    return node.real("default_float", -0.0)


def array_feature_extractor(node: Node) -> Value:
    """The elements of the last axis at some indices. Lists of strings stay indices."""
    places = moves.reshape(node.b, node.input(1), (-1,))
    known = node.scope.constant(node.call.inputs[0])
    if known is not None and known.dtype.kind in "OSU":
        names = ", ".join(map(str, known.reshape(-1)[:12]))
        node.b.warnings.append(f"'{node.call.outputs[0]}' is an index of {names}")
        return moves.unsqueeze(node.b, elementwise.cast(node.b, places, DType.INT64), [0])
    x = node.input()
    x = moves.unsqueeze(node.b, x, [0]) if x.rank == 1 else x
    return indexing.gather(node.b, x, x.rank - 1, places)


def feature_vectorizer(node: Node) -> Value:
    """All inputs concatenated, as float."""
    parts = [real(node, p) for p in range(len(node.inputs))]
    return moves.concat(node.b, [moves.flatten(node.b, part, 1) for part in parts], -1)


def zip_map(node: Node) -> Value:
    """A map from classes to scores becomes the scores, in the order of the classes."""
    node.b.warnings.append(f"'{node.call.outputs[0]}' is a vector in the order of the classes, not a mapping of them")
    for name in ("classlabels_int64s", "classlabels_strings"):
        node.asked.add(name)
    return node.input()


def cdist(node: Node) -> Value:
    """The distances of two sets of vectors, one of which is constant."""
    metric = node.text("metric", "sqeuclidean")
    if metric not in ("sqeuclidean", "euclidean"):
        raise UnsupportedNodeError(f"the metric {metric} is not supported (only euclidean, sqeuclidean)")
    vectors = node.known(1, "the second set of vectors")
    kind = Metric.SQUARED if metric == "sqeuclidean" else Metric.EUCLIDEAN
    return classical.distances(node.b, node.input(), vectors, kind)


def scanned_metric(node: Node) -> Metric | None:
    """The metric of a Scan over constant vectors that computes the distance of the input to each of them, as converters
    write nearest neighbours; None for other loops."""
    vectors, body = node.maybe_known(1), next(node.call.bodies, None)
    if len(node.inputs) != 2 or vectors is None or vectors.ndim != 2 or node.input().rank != 2:
        return None
    return _scanned(body)


def scanned_distances(node: Node, metric: Metric) -> Value:
    """The results of such a Scan: [vectors, samples]."""
    vectors = node.known(1, "the vectors of a loop")
    return moves.transpose(node.b, classical.distances(node.b, node.input(), vectors, metric), [1, 0])


def _scanned(body: Any) -> Metric | None:
    """The metric that the body of a Scan computes from the difference of its inputs; None for any other body."""
    if body is None or len(body.input) != 2:
        return None
    steps = [n for n in body.node if n.op_type != "Identity"]
    kinds = tuple(n.op_type for n in steps)
    known = {("Sub", "ReduceSumSquare"): Metric.SQUARED, ("Sub", "Abs", "ReduceSum"): Metric.MANHATTAN}
    chained = all(a.output[0] == b.input[0] for a, b in pairwise(steps))
    if kinds not in known or not chained or {*steps[0].input} != {i.name for i in body.input}:
        return None
    return known[kinds]


PARSERS: Mapping[Key, Parser] = {
    (MICROSOFT, "CDist"): cdist,
    (ML, "ArrayFeatureExtractor"): array_feature_extractor,
    (ML, "Binarizer"): binarizer,
    (ML, "FeatureVectorizer"): feature_vectorizer,
    (ML, "Imputer"): imputer,
    (ML, "LabelEncoder"): label_encoder,
    (ML, "LinearClassifier"): linear_classifier,
    (ML, "LinearRegressor"): linear_regressor,
    (ML, "Normalizer"): normalizer,
    (ML, "OneHotEncoder"): one_hot_encoder,
    (ML, "SVMClassifier"): svm_classifier,
    (ML, "SVMRegressor"): svm_regressor,
    (ML, "Scaler"): scaler,
    (ML, "ZipMap"): zip_map,
}
