"""Estimators of scikit-learn: what they decide is decided alike on thousands of inputs, what they compute is near."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn", reason="the estimators need scikit-learn")

from sklearn import ensemble, gaussian_process, linear_model, multioutput, neighbors, pipeline, preprocessing, svm

import classical_page as record
import mote
from mote.base.errors import MoteError
from mote.base.files import temporary_folder
from mote.bench.measure.runner import bench
from mote.compiler.emit.c.values import quoted
from mote.frontends import source_of
from mote.frontends.sklearn import boosters, forests
from mote.frontends.sklearn.reader import COMPOSITIONS, PREDICTIONS, TRANSFORMS, known, model_of
from mote.frontends.sklearn.reference import OUTPUTS
from mote.hardware.toolchain import Mode
from mote.ir.graph import Graph
from tests.frontends.sklearn.estimators import CASES, Array, data, fitted, inputs
from tests.helpers.support import emulated

SAMPLES = 3000
TOLERANCE = 2e-5
"""Of scores, in parts of the largest one of a sample and of the terms that it is made of."""


def judge(name: str, estimator: Any, x: Array, outputs: dict[str, Array]) -> None:
    """Whole numbers are equal; others are as near as single precision is, to what terms of the sums come to."""
    for output, got in outputs.items():
        want = np.asarray(OUTPUTS[output](estimator, x.astype(np.float64)))
        assert got.shape == want.shape, (name, output, got.shape, want.shape)
        if got.dtype.kind == "i":
            assert np.array_equal(got, want), f"{name}: {np.count_nonzero(got != want)} labels differ"
        else:
            room = TOLERANCE * max(1.0, float(np.abs(want).max()))
            assert np.abs(got - want).max() < room, f"{name}: {output} differs by {np.abs(got - want).max()}"


def outputs_of(graph: Graph, values: dict[int, Array]) -> dict[str, Array]:
    return {graph.tensors[t].name: values[t] for t in graph.outputs}


@pytest.mark.quick_cases(36)
@pytest.mark.parametrize("name", CASES)
def test_estimators(name: str) -> None:
    estimator = fitted(name)
    x = inputs(name, estimator, SAMPLES)
    model = model_of(estimator, x.shape[1], name, SAMPLES)
    assert not model.problems
    graph = model.partial().verify()
    judge(name, estimator, x, outputs_of(graph, graph.evaluate({graph.inputs[0]: x})))


IN_C = ("svc", "neighbours by distance", "gaussian bayes", "columns", "imputer")


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", IN_C)
def test_c(name: str) -> None:
    """The generated C, sample by sample, under the sanitizers."""
    estimator = fitted(name)
    x = inputs(name, estimator, 200)
    compiled = mote.compile(estimator)
    graph = compiled.plan.graph
    with temporary_folder() as folder:
        run = bench(compiled, folder, sanitize=True).execute(Mode.MEASURE, [[row.tobytes()] for row in x])
    found = {}
    for i, t in enumerate(graph.outputs):
        tensor = graph.tensors[t]
        rows = [np.frombuffer(outputs[i], tensor.dtype.numpy).reshape(tensor.shape) for outputs in run.outputs]
        found[tensor.name] = np.concatenate(rows)
    judge(name, estimator, x, found)


@pytest.mark.parametrize(("name", "core"), [("pipeline", "cortex-m4"), ("k-means", "cortex-m0plus")])
def test_on_a_core(name: str, core: str) -> None:
    result = mote.verify(mote.compile(fitted(name), target=emulated(core)), 4)
    assert result.passed and result.reference.startswith("scikit-learn"), result


def test_labels_are_indices_of_classes() -> None:
    compiled = mote.compile(fitted("logistic, names"), name="gesture")
    assert "'label' is an index of the classes rest, run, walk" in compiled.warnings
    assert '#define GESTURE_OUTPUT_0_CLASSES {"rest", "run", "walk"}' in compiled.project.files["gesture.h"]
    assert quoted('a"b\\é') == "a\\042b\\134\\303\\251"


def test_names_of_columns() -> None:
    """Estimators that were fitted with data frames are verified with them."""
    pandas = pytest.importorskip("pandas")
    from sklearn.compose import ColumnTransformer

    names = list("abcdef")
    x, y = data(3)
    chosen = ColumnTransformer([("one", preprocessing.StandardScaler(), ["b", "e"])])
    estimator = pipeline.make_pipeline(chosen, linear_model.LogisticRegression())
    estimator.fit(pandas.DataFrame(x, columns=names), y)
    assert mote.verify(mote.compile(estimator), 3).passed


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (gaussian_process.GaussianProcessRegressor(), "no such estimator yet"),
        (neighbors.KNeighborsClassifier(metric="chebyshev"), "the metric chebyshev is not supported"),
        (preprocessing.FunctionTransformer(np.log1p), "a function of Python"),
        (ensemble.VotingClassifier([("a", svm.SVC(probability=True))], voting="soft"), "has no probabilities"),
        (ensemble.BaggingClassifier(svm.SVC(probability=True), 2), "does not compute the probabilities"),
        (
            ensemble.StackingClassifier([("a", svm.SVC(probability=True))], stack_method="predict_proba", cv=2),
            "one of its estimators has no predict_proba",
        ),
        (pipeline.make_pipeline(preprocessing.QuantileTransformer(n_quantiles=9), svm.SVC()), "no such estimator yet"),
    ],
)
def test_what_is_refused(estimator: Any, said: str) -> None:
    """By layer, with the reason."""
    with pytest.raises(MoteError, match=f"cannot be compiled:\n  layer .*{said}"):
        mote.compile(estimator.fit(*data(3)))


def test_what_is_no_model() -> None:
    with pytest.raises(MoteError, match="not fitted"):
        mote.compile(svm.SVC())
    x, y = data(3)
    with pytest.raises(MoteError, match="cannot be pickled"):
        mote.compile(svm.SVC(kernel=lambda a, b: a @ b.T).fit(x, y))
    with pytest.raises(MoteError, match="the kernel precomputed is not supported"):
        mote.compile(svm.SVC(kernel="precomputed").fit(x @ x.T, y))
    with pytest.raises(MoteError, match="several outputs"):
        mote.compile(neighbors.KNeighborsClassifier().fit(x, np.stack([y, y], axis=1)))
    with pytest.raises(MoteError, match="no such estimator"):
        mote.compile(multioutput.ClassifierChain(linear_model.LogisticRegression()).fit(x, np.stack([y > 1, y > 0], 1)))


def test_every_reader_is_tried() -> None:
    """The cases have every estimator that Mote reads, but for those that share a reader with one that is there."""
    seen = set()

    def see(estimator: Any) -> None:
        seen.add(PREDICTIONS.get(known(estimator, PREDICTIONS) or ""))
        seen.add(TRANSFORMS.get(known(estimator, TRANSFORMS) or ""))
        for _, part, *_ in (
            *getattr(estimator, "steps", ()),
            *getattr(estimator, "transformers_", ()),
            *getattr(estimator, "transformer_list", ()),
        ):
            see(part)

    for name in CASES:
        see(fitted(name))
    others = {*forests.PREDICTIONS, *boosters.PREDICTIONS}
    read = {name: reader for name, reader in {**PREDICTIONS, **TRANSFORMS}.items() if name not in others}
    missing = [name for name, reader in read.items() if reader not in seen]
    assert not missing
    assert {type(fitted(name)).__name__ for name in CASES} >= {"Pipeline", "OneVsRestClassifier", "VotingClassifier"}
    assert len(COMPOSITIONS) == 16


def test_results_are_data() -> None:
    assert source_of(fitted("ridge")).format == "sklearn"
    assert json.loads(json.dumps(mote.verify(mote.compile(fitted("ridge")), 2).json()))["passed"]


def test_the_page_has_the_table() -> None:
    assert record.PAGE.read_text(encoding="utf-8") == record.page(), "benchmarks/classical_page.py --record"
