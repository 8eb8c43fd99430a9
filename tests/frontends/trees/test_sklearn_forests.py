"""Forests of scikit-learn: the same decisions on every input, values at thresholds included."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import mote
from mote.frontends.trees.forest import Leaf, TreeEnsemble, TreeNode, below, check_tree, grow, rounded_down
from mote.frontends.trees.sklearn import forest_of
from mote.ir.graph.types import DType
from tests.frontends.trees.fitted_forests import SETS, data, graph_of, inputs, said, trees_of

ensemble = pytest.importorskip("sklearn.ensemble")
tree = pytest.importorskip("sklearn.tree")
SEED: dict[str, Any] = {"random_state": 0}
SMALL: dict[str, Any] = {"n_estimators": 10, **SEED}

FORESTS: dict[str, tuple[Any, str, bool]] = {
    "tree": (tree.DecisionTreeClassifier(**SEED), "four", False),
    "extra tree": (tree.ExtraTreeClassifier(max_depth=4, **SEED), "two", False),
    "regression tree": (tree.DecisionTreeRegressor(max_depth=6, **SEED), "real", True),
    "random forest": (ensemble.RandomForestClassifier(**SMALL), "four", False),
    "random forest, missing": (ensemble.RandomForestClassifier(**SMALL), "two", True),
    "shallow forest": (ensemble.RandomForestClassifier(max_depth=4, **SMALL), "four", True),
    "extra trees": (ensemble.ExtraTreesClassifier(max_depth=7, **SMALL), "two", False),
    "forest of numbers": (ensemble.RandomForestRegressor(max_depth=6, **SMALL), "real", True),
    "boosting": (ensemble.GradientBoostingClassifier(**SMALL), "two", False),
    "boosting, four classes": (ensemble.GradientBoostingClassifier(max_depth=2, **SMALL), "four", False),
    "boosting, exponential": (ensemble.GradientBoostingClassifier(loss="exponential", **SMALL), "two", False),
    "boosting of numbers": (ensemble.GradientBoostingRegressor(loss="huber", **SMALL), "real", False),
    "histograms": (ensemble.HistGradientBoostingClassifier(max_iter=6, **SEED), "two", True),
    "histograms, four classes": (ensemble.HistGradientBoostingClassifier(max_iter=4, **SEED), "four", True),
    "histograms of counts": (ensemble.HistGradientBoostingRegressor(loss="poisson", max_iter=6, **SEED), "real", True),
    "histograms, sets": (
        ensemble.HistGradientBoostingClassifier(max_iter=6, categorical_features=[SETS], **SEED),
        "two",
        True,
    ),
    "isolation": (ensemble.IsolationForest(**SMALL), "two", False),
    "isolation, some features": (ensemble.IsolationForest(max_features=3, contamination=0.1, **SMALL), "two", False),
}


def fitted(name: str) -> tuple[Any, bool]:
    model, target, missing = FORESTS[name]
    known = data(missing)
    return model.fit(known["x"], known[target]), missing


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("name", FORESTS)
def test_answers_are_those_of_scikit_learn(name: str) -> None:
    model, missing = fitted(name)
    trees = trees_of(graph_of(model))
    rows = inputs(trees, 1500, missing=missing)
    if missing and (not name.startswith("histograms") or "sets" in name):
        rows = np.nan_to_num(rows, nan=np.nan, posinf=3e38, neginf=-3e38)
    described = forest_of(model)
    assert described is not None
    grown = grow(described, DType.FLOAT32)
    sums = grown.trees.sums(rows) / grown.units / described.divisor
    want = raw(model, rows)
    assert np.abs(sums - want).max() <= 1e-6 * max(1, np.abs(want).max())
    agrees(said(graph_of(model), rows[:60]), model, rows[:60])
    if described.classes is not None and sums.shape[1] > 1:
        label = np.asarray(described.classes)[np.argmax(grown.trees.sums(rows), axis=1)]
        assert np.array_equal(label, model.predict(rows))


def raw(model: Any, rows: Any) -> Any:
    """The sums, before anything is made of them."""
    if hasattr(model, "score_samples"):
        return -np.log2(-model.score_samples(rows))[:, None]
    if "Boosting" in type(model).__name__:
        return model._raw_predict(rows).reshape(len(rows), -1)
    return model.predict_proba(rows) if hasattr(model, "classes_") else model.predict(rows).reshape(len(rows), -1)


def agrees(found: dict[str, Any], model: Any, rows: Any) -> None:
    if "label" in found:
        want = model.predict(rows)
        index = np.searchsorted(model.classes_, want) if hasattr(model, "classes_") else (want > 0).astype(int)
        assert np.array_equal(found["label"].reshape(-1), index)
    if "probabilities" in found:
        assert np.allclose(found["probabilities"], model.predict_proba(rows), atol=1e-6)
    if "scores" in found:
        assert np.allclose(found["scores"].reshape(-1), model.decision_function(rows), atol=1e-6)
    if "prediction" in found:
        assert np.allclose(found["prediction"].reshape(-1), model.predict(rows), rtol=2e-6)


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", ["random forest", "boosting", "histograms, sets"])
def test_generated_code_is_what_scikit_learn_says(name: str) -> None:
    model, _ = fitted(name)
    result = mote.verify(mote.compile(model), 3, sanitize=True)
    assert result.passed, result.mismatches
    assert result.reference.startswith("scikit-learn")


def test_a_forest_may_be_the_end_of_a_pipeline() -> None:
    pipeline, scaler = (pytest.importorskip(f"sklearn.{name}") for name in ("pipeline", "preprocessing"))
    known = data(False)
    model = pipeline.make_pipeline(scaler.StandardScaler(), ensemble.RandomForestClassifier(**SMALL))
    model.fit(known["x"], known["four"])
    rows = known["x"][:100] + np.float32(0.01)
    assert np.array_equal(said(graph_of(model), rows)["label"].reshape(-1), model.predict(rows))


def test_what_cannot_be_compiled_is_told() -> None:
    known = data(False)
    both = np.stack([known["two"], known["four"]], axis=1)
    several = ensemble.RandomForestClassifier(**SMALL).fit(known["x"], both)
    begun = ensemble.GradientBoostingRegressor(init=tree.DecisionTreeRegressor(max_depth=2), **SMALL)
    begun.fit(known["x"], known["real"])
    for model, reason in ((several, "several outputs"), (begun, "begins with a DecisionTreeRegressor")):
        with pytest.raises(mote.MoteError, match=reason):
            mote.compile(model)


def test_several_numbers_at_once() -> None:
    known = data(False)
    model = ensemble.ExtraTreesRegressor(max_depth=5, **SMALL)
    model.fit(known["x"], np.stack([known["real"], -2 * known["real"]], axis=1))
    rows = known["x"][:50]
    assert np.allclose(said(graph_of(model), rows)["prediction"], model.predict(rows), rtol=2e-6)


# The tables: what thresholds become, what is shared, what is not asked again


@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.INT16, DType.UINT8, DType.INT8])
def test_bounds_are_rounded_down_to_the_type_of_features(dtype: DType) -> None:
    rng = np.random.default_rng(0)
    for bound in (*rng.normal(0, 100, 300), 0.0, -0.0, 1e-50, -1e-50, 1e300, -1e300, 126.5, -128.5):
        found = rounded_down(float(bound), dtype)
        if dtype == DType.FLOAT32:
            above = (
                math.inf
                if found >= float(np.finfo(np.float32).max)
                else float(np.nextafter(np.float32(found), np.float32(np.inf)))
            )
            assert found <= bound < above
        else:
            values = np.arange(dtype.limits[0], dtype.limits[1] + 1)
            assert np.array_equal(values <= found, values <= bound)


def test_nothing_is_asked_twice_and_what_is_the_same_is_there_once() -> None:
    asked = [
        TreeNode(0, (5.0,), (1, 2), 1),
        TreeNode(0, (9.0,), (3, 4), 3),
        TreeNode(1, (2.0,), (5, 6), 5),
        TreeNode(1, (2.0,), (7, 8), 7),
        Leaf(0, (9.0,)),
        Leaf(0, (1.0,)),
        Leaf(0, (2.0,)),
        Leaf(0, (1.0,)),
        Leaf(0, (2.0,)),
    ]
    check_tree(asked, 2, 1)
    trees = grow(TreeEnsemble(2, [asked, asked], (0.0,), missing=False), DType.INT16).trees
    assert trees.nodes == 1 and len(trees.values) == 2, "x0 <= 9 follows from x0 <= 5, and then both sides are the same"
    assert trees.roots[0] == trees.roots[1]


def test_many_sets_in_each_other_stay_small() -> None:
    """Alternating categories lead to the same two children: neither is written again for each of them."""
    deep: list[TreeNode | Leaf] = []
    for level in range(12):
        bounds = tuple(float(b) for b in range(8))
        deep.append(TreeNode(level, bounds, tuple(level + 1 if i % 2 else 20 + level for i in range(9)), level + 1))
    deep += [Leaf(0, (1.0,))] * (20 - len(deep))
    deep += [Leaf(0, (float(level),)) for level in range(12)]
    trees = grow(TreeEnsemble(12, [deep], (0.0,)), DType.FLOAT32).trees
    assert trees.nodes <= 12 * 8


def test_leaves_that_are_fractions_are_whole_numbers_of_units() -> None:
    def forest(*values: float) -> TreeEnsemble:
        return TreeEnsemble(1, [[TreeNode(0, (0.0,), (1, 2), 1), *(Leaf(0, (v,)) for v in values)]] * 3, (0.0,))

    assert grow(forest(0.25, 1 / 3), DType.FLOAT32).units == 12
    assert grow(forest(1.0, 2.0), DType.FLOAT32).units == 1
    units = grow(forest(0.1234567, np.pi), DType.FLOAT32).units
    assert units == 2 ** int(np.log2(units)) and 2**30 < 3 * np.pi * units <= 2**31


def test_numbers_just_below() -> None:
    assert below(1.0) < 1.0 and below(1.0) > 1.0 - 1e-15


# How a forest is asked for


def test_features_may_be_integers_and_a_label_all_that_is_wanted() -> None:
    """The same decisions as on the same numbers as real ones, in generated code, and nothing that nobody wants."""
    x = np.round(data(False)["x"] * 30).astype(np.int16)
    model = ensemble.RandomForestClassifier(**SMALL).fit(x, data(False)["four"])
    compiled = mote.compile(model, features="int16", outputs=["label"])
    graph = compiled.plan.graph
    assert graph.tensors[graph.inputs[0]].dtype == DType.INT16
    assert [op.kind for op in graph.ops if op.kind != "RESHAPE"] == ["FOREST", "ARG_MAX"]
    assert mote.verify(compiled, 3, sanitize=True).passed
    rows = inputs(trees_of(graph_of(model)), 300, missing=False)
    whole = np.clip(np.round(rows * 30), -32768, 32767).astype(np.int16)
    found = said(graph, whole)["label"].reshape(-1)
    assert np.array_equal(found, model.predict(whole))


@pytest.mark.parametrize("optimize", ["size", "speed"])
def test_tables_for_size_and_code_for_speed(optimize: str) -> None:
    model, _ = fitted("random forest")
    chosen = [s.kernel for s in mote.compile(model, optimize=optimize, target="cortex-m4").plan.steps]
    assert chosen[0].family == {"size": "forest_ranked", "speed": "forest_code"}[optimize]


def test_wrong_options_are_told() -> None:
    model, _ = fitted("tree")
    for options, reason in (
        ({"outputs": ["scores"]}, "no output 'scores'"),
        ({"outputs": 3}, "not a list of names"),
        ({"features": "int64"}, "'int64' is not one of"),
    ):
        with pytest.raises(mote.MoteError, match=reason):
            mote.compile(model, **options)
