"""`mote.fit_threshold`: thresholds learned on the scores of the compiled C, and that the steps apply them so."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mote.base.errors import MoteError
from mote.bench.evaluation.evaluator import evaluate
from mote.bench.evaluation.threshold import ThresholdFit, fit_threshold
from mote.bench.execute.host_library import HostModel
from mote.compiler.line import compile
from mote.frontends.data.dataset_type import Dataset, RecordingInfo
from mote.ir.graph.tensor import Array
from tests.frontends.features.postprocess.test_attaching import autoencoder, frames
from tests.ui.api.test_results import DIGITS, TEST


def decided(model: Any, fit: ThresholdFit, samples: Array) -> Array:
    """The first number of the decisions of the compiled model with the fitted steps, each sample by itself."""
    compiled = compile(model, postprocess=fit.postprocess)
    host = HostModel(compiled)
    host.build()
    (given,) = compiled.plan.graph.inputs
    (decisions,) = host.run([{given: x[None].astype(np.int8)} for x in samples], stream=False)
    return decisions.reshape(len(samples), -1)[:, 0]


def test_anomalies_of_normal_data() -> None:
    """So many samples are above the threshold as the result says, by the compiled comparison too."""
    samples = np.random.default_rng(1).integers(-128, 128, (200, 16)).astype(np.int8)
    fit = fit_threshold(autoencoder(), samples, percentile=90)
    assert fit.postprocess == f"anomaly-score,threshold({fit.threshold!r})" and fit.positives == 0
    assert fit.false_positives == 20 and "90% of normal samples" in fit.criterion
    assert decided(autoencoder(), fit, samples).sum() == 20
    raised = fit_threshold(autoencoder(), samples, percentile=90, margin=50)
    assert raised.threshold == pytest.approx(1.5 * fit.threshold, rel=1e-3) and raised.false_positives < 20


def test_labelled_samples() -> None:
    normal = np.random.default_rng(2).integers(-20, 20, (50, 16)).astype(np.int8)
    odd = np.random.default_rng(3).integers(-128, 128, (10, 16)).astype(np.int8)
    data = Dataset("both", {"x": np.concatenate([normal, odd])}, np.repeat([0, 1], [50, 10]))
    fit = fit_threshold(autoencoder(), data)
    assert (fit.positives, fit.criterion) == (10, "highest f1")
    few = fit_threshold(autoencoder(), data, false_positives=0.0)
    assert few.false_positives == 0 and few.false_negatives >= fit.false_negatives
    above = decided(autoencoder(), few, data.inputs["x"])
    assert above[:50].sum() == 0 and above[50:].sum() == 10 - few.false_negatives


def test_recordings() -> None:
    """Few misses, and no more false alarms than are allowed."""
    rng = np.random.default_rng(4)
    values = rng.integers(-100, 100, (120, 1, 4)).astype(np.int8)
    wanted = np.array([[t, t + 0.5] for t in (3.0, 9.0, 17.0)])
    data = Dataset("recording", {"frames": values}, stream=RecordingInfo(0.2, 0.2, 24.0, wanted))
    fits = [fit_threshold(frames(), data, event=1, false_alarms=n) for n in (1000, 10_000)]
    for fit, most in zip(fits, (1000, 10_000), strict=True):
        assert fit.positives == 3 and fit.false_alarms_an_hour is not None and fit.false_alarms_an_hour <= most
        assert fit.postprocess == f"detect(1,{fit.threshold!r},hold=1)"
    assert fits[0].threshold > fits[1].threshold and fits[0].false_negatives >= fits[1].false_negatives
    with pytest.raises(MoteError, match="at most 0 false alarms an hour: no score exceeds"):
        fit_threshold(frames(), data, event=1, false_alarms=0)


def test_averages_go_on_over_windows() -> None:
    """Windows of a recording follow each other frame by frame, and averages continue from one to the next."""
    values = np.random.default_rng(4).integers(-100, 100, (60, 1, 4)).astype(np.int8)
    data = Dataset("recording", {"frames": values}, stream=RecordingInfo(0.2, 0.2, 12.0, np.array([[3.0, 4.0]])))
    fit = fit_threshold(frames(), data, event=1, percentile=80, postprocess="moving-average=3")
    plain = fit_threshold(frames(), data, event=1, percentile=80)
    assert fit.samples == plain.samples == 60 - 5
    assert fit.postprocess.startswith("moving-average=3,detect(1,") and fit.highest < plain.highest
    score = evaluate(frames(), data, event=1, threshold=fit.threshold, postprocess="moving-average=3").score
    assert score.detail["false_alarms"] == fit.false_positives


def test_decisions_are_no_scores() -> None:
    with pytest.raises(MoteError, match="gives decisions, and scores are wanted"):
        fit_threshold(DIGITS, TEST, event=3, postprocess="argmax=0.5")


@pytest.mark.parametrize(
    ("data", "options", "reason"),
    [
        (TEST, {}, "the model has 10 scores"),
        (TEST, {"event": 10}, "there is no class 10"),
        (TEST, {"event": 1, "metric": "f2"}, "is no metric of a threshold"),
        (TEST, {"event": 1, "metric": "f1", "percentile": 9.0}, "are two criteria"),
        (TEST, {"event": 1, "percentile": 101.0}, "101 is not from 0 to 100"),
        (TEST, {"event": 1, "false_alarms": 1.0}, "no false alarms an hour"),
        (np.zeros((4, 8, 8, 1), np.int8) + np.arange(4, dtype=np.int8)[:, None, None, None],
         {"event": 1, "metric": "f1"}, "not of two kinds"),
    ],
)  # fmt: skip
def test_what_cannot_be_learned(data: Any, options: dict[str, Any], reason: str) -> None:
    with pytest.raises(MoteError, match=reason):
        fit_threshold(DIGITS, data, **options)
