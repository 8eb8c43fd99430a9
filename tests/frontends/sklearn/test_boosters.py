"""XGBoost and LightGBM within estimators of scikit-learn: labels are equal, and what they are made of is near."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("sklearn")
pytest.importorskip("xgboost")
pytest.importorskip("lightgbm")

import lightgbm as lgb
import xgboost as xgb
from sklearn import calibration, ensemble, linear_model, multiclass, naive_bayes, pipeline, preprocessing

import mote
from mote.frontends.sklearn.reader import model_of
from tests.frontends.sklearn.estimators import Array, classified, named, regressed, samples
from tests.frontends.sklearn.test_estimators import judge, outputs_of

pytestmark = pytest.mark.frontends
SIZE: dict[str, Any] = {"n_estimators": 6, "max_depth": 3, "n_jobs": 1}
LIGHT: dict[str, Any] = {**SIZE, "verbose": -1}
UNSCALED = preprocessing.FunctionTransformer()


def after(estimator: Any, scaler: Any = UNSCALED) -> Any:
    return pipeline.make_pipeline(scaler, estimator)


CASES: dict[str, Callable[[], Any]] = {
    "xgboost": classified(after(xgb.XGBClassifier(**SIZE)), 3),
    "xgboost, two classes": classified(after(xgb.XGBClassifier(**SIZE)), 2),
    "xgboost, numbers": regressed(after(xgb.XGBRegressor(**SIZE))),
    "xgboost, shares": regressed(after(xgb.XGBRegressor(objective="reg:gamma", **SIZE))),
    "lightgbm": named(after(lgb.LGBMClassifier(**LIGHT))),
    "lightgbm, two classes": classified(after(lgb.LGBMClassifier(**LIGHT)), 2),
    "lightgbm, numbers": regressed(after(lgb.LGBMRegressor(**LIGHT))),
    "votes": classified(
        ensemble.VotingClassifier(
            [("a", xgb.XGBClassifier(**SIZE)), ("b", lgb.LGBMClassifier(**LIGHT)), ("c", naive_bayes.GaussianNB())],
            voting="soft",
        )
    ),
    "stack": named(
        ensemble.StackingClassifier(
            [("a", xgb.XGBClassifier(**SIZE)), ("b", lgb.LGBMClassifier(**LIGHT))],
            linear_model.LogisticRegression(),
            cv=2,
            passthrough=True,
        )
    ),
    "stack of numbers": regressed(
        ensemble.StackingRegressor([("a", linear_model.Ridge()), ("b", lgb.LGBMRegressor(**LIGHT))], cv=2)
    ),
    "bag": classified(ensemble.BaggingClassifier(xgb.XGBClassifier(**SIZE), 3, max_features=4, random_state=0)),
    "calibrated": classified(calibration.CalibratedClassifierCV(lgb.LGBMClassifier(**LIGHT), cv=2), 3),
    "one against the rest": classified(multiclass.OneVsRestClassifier(xgb.XGBClassifier(**SIZE)), 4),
}


@pytest.mark.parametrize("name", CASES)
def test_boosters_within_estimators(name: str) -> None:
    estimator, x = CASES[name](), samples(1500)
    model = model_of(estimator, x.shape[1], name, len(x))
    assert not model.problems
    graph = model.partial().verify()
    judge(name, estimator, x, outputs_of(graph, graph.evaluate({graph.inputs[0]: x})))


@pytest.mark.parametrize("estimator", [xgb.XGBClassifier(**SIZE), lgb.LGBMClassifier(**LIGHT)], ids=["xgb", "lgb"])
def test_generated_code_is_what_the_pipeline_says(estimator: Any) -> None:
    result = mote.verify(mote.compile(classified(after(estimator, preprocessing.StandardScaler()))()), 3)
    assert result.passed and result.reference.startswith("scikit-learn"), result


def test_probabilities_of_a_regressor_are_its_prediction() -> None:
    x: Array = samples(300)
    y = (x[:, 0] > 2).astype(float)
    model = after(xgb.XGBRegressor(objective="binary:logistic", **SIZE)).fit(x, y)
    result = mote.verify(compiled := mote.compile(model), 3)
    assert result.passed
    graph = compiled.plan.graph
    assert [graph.tensors[t].name for t in graph.outputs] == ["prediction"]


def test_a_linear_booster_is_refused() -> None:
    x: Array = samples(100)
    model = after(xgb.XGBClassifier(booster="gblinear", n_jobs=1)).fit(x, (x[:, 0] > np.median(x[:, 0])).astype(int))
    with pytest.raises(mote.MoteError, match="gblinear"):
        mote.compile(model)
