"""XGBoost and LightGBM: files are read without the packages, and give what the packages give."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

import mote
from mote import frontends
from mote.frontends.source import Format, Source
from mote.frontends.trees import lightgbm, ubjson, xgboost
from mote.frontends.trees.forest import grow
from mote.ir.graph.types import DType
from tests.frontends.trees.fitted_forests import SETS, data, graph_of, inputs, said, trees_of

xgb = pytest.importorskip("xgboost")
lgb = pytest.importorskip("lightgbm")

pytestmark = pytest.mark.frontends
SIZE: dict[str, Any] = {"n_estimators": 8, "n_jobs": 1}
KINDS = ["q"] * SETS + ["c"]
CATEGORIES: dict[str, Any] = {"enable_categorical": True, "feature_types": KINDS}

BOOSTED: dict[str, tuple[Any, str]] = {
    "two classes, sets": (xgb.XGBClassifier(max_cat_to_onehot=2, **CATEGORIES, **SIZE), "two"),
    "four classes, sets": (xgb.XGBClassifier(max_cat_to_onehot=2, max_depth=4, **CATEGORIES, **SIZE), "four"),
    "two classes, single categories": (xgb.XGBClassifier(max_cat_to_onehot=99, **CATEGORIES, **SIZE), "two"),
    "classes only": (xgb.XGBClassifier(objective="multi:softmax", max_depth=3, **SIZE), "four"),
    "random forest": (xgb.XGBRFClassifier(**SIZE), "two"),
    "zeros are missing": (xgb.XGBClassifier(missing=0.0, **SIZE), "two"),
    "a category is missing": (xgb.XGBClassifier(missing=2, max_cat_to_onehot=2, **CATEGORIES, **SIZE), "two"),
    **{
        objective: (xgb.XGBRegressor(objective=objective, max_depth=3, **SIZE), "real")
        for objective in (
            *("reg:squarederror", "reg:absoluteerror", "count:poisson", "reg:gamma", "reg:tweedie", "survival:cox"),
            "reg:squaredlogerror",
        )
    },
    **{o: (xgb.XGBRegressor(objective=o, **SIZE), "two") for o in ("reg:logistic", "binary:hinge", "binary:logitraw")},
}
LIGHT: dict[str, Any] = {"verbose": -1, "num_leaves": 12, **SIZE}
LIGHTER: dict[str, tuple[Any, str]] = {
    "two classes": (lgb.LGBMClassifier(**LIGHT), "two"),
    "four classes": (lgb.LGBMClassifier(**LIGHT), "four"),
    "one against all": (lgb.LGBMClassifier(objective="multiclassova", **LIGHT), "four"),
    "zeros are missing": (lgb.LGBMClassifier(zero_as_missing=True, **LIGHT), "two"),
    "nothing is missing": (lgb.LGBMClassifier(use_missing=False, **LIGHT), "two"),
    "random forest": (lgb.LGBMClassifier(boosting_type="rf", bagging_freq=1, bagging_fraction=0.7, **LIGHT), "two"),
    "square root": (lgb.LGBMRegressor(reg_sqrt=True, **LIGHT), "real"),
    **{o: (lgb.LGBMRegressor(objective=o, **LIGHT), "real") for o in ("regression", "l1", "poisson", "gamma", "mape")},
    **{o: (lgb.LGBMRegressor(objective=o, **LIGHT), "two") for o in ("cross_entropy", "cross_entropy_lambda")},
}


def check_answers(model: Any, rows: Any) -> None:
    found = said(graph_of(model), rows)
    if "label" in found:
        assert np.array_equal(found["label"].reshape(-1), model.predict(rows))
    if "prediction" in found:
        want = model.predict(rows).reshape(found["prediction"].shape)
        assert np.allclose(found["prediction"], want, rtol=2e-6, atol=1e-6)
    elif "multi:softmax" not in str(getattr(model, "objective", "")):
        assert np.allclose(found["probabilities"], model.predict_proba(rows), atol=1e-6)


@pytest.mark.parametrize("name", BOOSTED)
def test_sums_are_those_of_xgboost_bit_for_bit(name: str) -> None:
    model, target = BOOSTED[name]
    model.fit(data()["x"], data()[target])
    trees = trees_of(graph_of(model))
    rows = inputs(trees)
    want = model.predict(rows, output_margin=True).reshape(len(rows), -1)
    assert trees.values.dtype == np.float32
    assert np.array_equal(trees.sums(rows), want)
    check_answers(model, rows[:80])


@pytest.mark.parametrize("name", LIGHTER)
def test_sums_are_those_of_lightgbm(name: str) -> None:
    model, target = LIGHTER[name]
    model.fit(data()["x"], data()[target], categorical_feature=[SETS])
    source = frontends.source_of(model)
    described = lightgbm.forest_of(source)
    grown = grow(described, DType.FLOAT32)
    rows = inputs(grown.trees)
    want = model.predict(rows, raw_score=True).reshape(len(rows), -1)
    error = np.abs(grown.trees.sums(rows) / grown.units - want).max()
    assert error <= len(described.trees) / grown.units
    check_answers(model, rows[:80])


def test_trees_that_were_dropped_out_count_less() -> None:
    model = xgb.XGBClassifier(booster="dart", rate_drop=0.3, **SIZE).fit(data()["x"], data()["two"])
    trees = trees_of(graph_of(model))
    rows = inputs(trees)
    want = model.predict(rows, output_margin=True)
    assert np.allclose(trees.sums(rows)[:, 0], want, rtol=0, atol=1e-6)


def test_an_estimator_that_was_stopped_has_the_trees_up_to_the_best() -> None:
    x, y = data()["x"], data()["two"]
    model = xgb.XGBClassifier(n_estimators=60, early_stopping_rounds=3, n_jobs=1)
    model.fit(x, y, eval_set=[(x[:100], 1 - y[:100])], verbose=False)
    trees = trees_of(graph_of(model))
    rows = inputs(trees, 200)
    assert np.array_equal(trees.sums(rows)[:, 0], model.predict(rows, output_margin=True))
    assert len(trees.roots) < len(trees_of(graph_of(model.get_booster())).roots)


def test_binary_and_text_are_the_same_model() -> None:
    model, target = BOOSTED["four classes, sets"]
    booster = model.fit(data()["x"], data()[target]).get_booster()
    text, binary = (bytes(booster.save_raw(kind)) for kind in ("json", "ubj"))
    assert ubjson.decode(binary)["learner"]["objective"] == json.loads(text)["learner"]["objective"]
    one, other = (trees_of(frontends.load(given)) for given in (text, binary))
    assert np.array_equal(one.threshold, other.threshold) and np.array_equal(one.values, other.values)


@pytest.mark.parametrize(
    "model",
    [
        xgb.XGBClassifier(n_estimators=5, n_jobs=1),
        xgb.XGBRegressor(n_estimators=5, objective="count:poisson", n_jobs=1),
        lgb.LGBMClassifier(n_estimators=5, verbose=-1, n_jobs=1),
        lgb.LGBMRegressor(n_estimators=5, verbose=-1, n_jobs=1),
    ],
    ids=lambda m: type(m).__name__,
)
def test_generated_code_is_what_the_package_says(model: Any) -> None:
    known = data()
    classifier = hasattr(model, "predict_proba")
    model.fit(known["x"], known["four" if classifier else "real"])
    result = mote.verify(mote.compile(model), 3, sanitize=True)
    assert result.passed, result.mismatches
    assert result.reference.split()[0] in ("XGBoost", "LightGBM")


XGBOOST = xgb.XGBClassifier(max_cat_to_onehot=2, max_depth=3, **{**CATEGORIES, "n_estimators": 2, "n_jobs": 1})
LIGHTGBM = lgb.LGBMClassifier(n_estimators=2, num_leaves=5, verbose=-1, n_jobs=1)


def files() -> dict[str, tuple[Format, bytes]]:
    known = data()
    booster = XGBOOST.fit(known["x"], known["two"]).get_booster()
    text = LIGHTGBM.fit(known["x"], known["two"], categorical_feature=[SETS]).booster_.model_to_string()
    return {
        "json": (Format.XGBOOST, bytes(booster.save_raw("json"))),
        "ubj": (Format.XGBOOST, bytes(booster.save_raw("ubj"))),
        "text": (Format.LIGHTGBM, text.encode()),
    }


def read(format: Format, given: bytes) -> None:
    frontends.parse(Source("model", format, given))


@pytest.mark.parametrize("kind", ["json", "ubj", "text"])
def test_damaged_files_are_refused_with_a_reason(kind: str) -> None:
    """Files cut short, and with bytes that are others: read, or refused in words, within bounds of time and memory."""
    format, whole = files()[kind]
    rng = np.random.default_rng(0)
    end = whole.find(b"end of trees") if kind == "text" else len(whole)
    for cut in rng.integers(0, end - 1, 60):
        with pytest.raises(mote.MoteError):
            read(format, whole[:cut])
    refused = 0
    for _ in range(250):
        changed = bytearray(whole)
        for at in rng.integers(0, len(whole), int(rng.integers(1, 6))):
            changed[at] = int(rng.integers(256)) if rng.random() < 0.5 else int(rng.choice(list(b"0123456789-,[]{} ")))
        try:
            read(format, bytes(changed))
        except mote.MoteError as error:
            assert error.remedy or error.where
            refused += 1
    assert refused > 20


def wrong(change: Any) -> bytes:
    """A file of XGBoost's with something changed about its first tree, or the whole."""
    known = json.loads(files()["json"][1])
    change(known["learner"], known["learner"]["gradient_booster"]["model"]["trees"][0])
    return json.dumps(known).encode()


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        (lambda learner, tree: tree["left_children"].__setitem__(1, 0), "node 0"),
        (lambda learner, tree: tree["left_children"].__setitem__(1, 2), "the nodes are not a tree"),
        (lambda learner, tree: tree["left_children"].__setitem__(0, 999), "node 999"),
        (lambda learner, tree: tree["split_indices"].__setitem__(0, 77), "feature 77"),
        (lambda learner, tree: tree["split_conditions"].pop(), "shorter"),
        (lambda learner, tree: tree["split_conditions"].__setitem__(0, float("nan")), "threshold"),
        (lambda learner, tree: tree.pop("left_children"), "'left_children' is missing"),
        (lambda learner, tree: tree["tree_param"].__setitem__("size_leaf_vector", "3"), "multi_output_tree"),
        (lambda learner, tree: learner["objective"].__setitem__("name", "mine"), "the objective mine"),
        (lambda learner, tree: learner["learner_model_param"].__setitem__("base_score", "0"), "base_score"),
        (lambda learner, tree: learner["learner_model_param"].__setitem__("num_feature", "-1"), "-1 features"),
        (lambda learner, tree: learner["gradient_booster"].__setitem__("name", "gblinear"), "linear model"),
    ],
)
def test_what_is_wrong_is_named(change: Any, reason: str) -> None:
    with pytest.raises(mote.MoteError, match=reason):
        read(Format.XGBOOST, wrong(change))


def test_what_the_package_does_not_read_is_told() -> None:
    def damaged(learner: Any, tree: Any) -> None:
        del tree["loss_changes"]

    with pytest.raises(mote.MoteError, match="XGBoost does not run the model"):
        mote.verify(mote.compile(wrong(damaged)))


def test_a_forest_without_trees_is_refused() -> None:
    def none(learner: Any, tree: Any) -> None:
        learner["gradient_booster"]["model"] |= {"trees": [], "tree_info": []}

    with pytest.raises(mote.MoteError, match="without trees"):
        read(Format.XGBOOST, wrong(none))


def test_deep_containers_do_not_exhaust_the_stack() -> None:
    for given in (b"{" + b'"a":{' * 50_000, b'{"learner":' + b"[" * 200_000):
        with pytest.raises(mote.MoteError):
            read(Format.XGBOOST, given)
    with pytest.raises(mote.MoteError):
        read(Format.XGBOOST, b"{i\x01a" + b"[" * 100_000)


def test_probabilities_above_one_half_begin_where_xgboost_says() -> None:
    cut = np.float32(xgboost._half())
    one, half = np.float32(1), np.float32(0.5)
    assert not one / (one + np.exp(-cut)) > half
    assert one / (one + np.exp(-np.nextafter(cut, one))) > half


def test_classes_and_features_with_names_are_in_the_header() -> None:
    """A LightGBM file has neither the strings that it was fitted on, nor that they were some."""
    x, y = data()["x"], data()["two"]
    names = [f"f{i}" for i in range(x.shape[1])]
    fitted = lgb.LGBMClassifier(**LIGHT).fit(x, np.where(y > 0, "yes", "no"), feature_name=names)
    header = mote.compile(fitted, name="trees").project.files["trees.h"]
    assert '_CLASSES {"no", "yes"}' in header and '#define TREES_INPUT_FEATURES {"f0", "f1"' in header
    unnamed = mote.compile(lgb.LGBMClassifier(**LIGHT).fit(x, y), name="trees").project.files["trees.h"]
    assert "_CLASSES" not in unnamed and "_FEATURES" not in unnamed
