"""Precisions layer by layer under a guard of accuracy: cheap, verified, and the same whoever evaluates."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import cache
from itertools import product
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

pytest.importorskip("sklearn")

from sklearn.datasets import load_digits
from sklearn.neural_network import MLPClassifier

import mote
from mote import quantize
from mote.base.errors import MoteError
from mote.frontends import source_of
from mote.frontends.data.dataset import Dataset, dataset
from mote.hardware import targets
from mote.ir.graph.tensor import Array
from mote.optimize.compress.mixed_precision import task as mixing
from mote.optimize.compress.mixed_precision.result import Mixed, loss
from mote.optimize.compress.mixed_precision.search import drop
from mote.optimize.compress.mixed_precision.task import MixedPrecisionTask, Trial, tried
from mote.optimize.compress.quantize.pipeline import Methods
from mote.optimize.search import Journal
from tests.helpers.notebooks import assert_readable
from tests.helpers.support import emulated

CONVOLUTIONS = Path(__file__).parents[4] / "models" / "digits_float.tflite"
TWO = ("int8", "int16")
METHODS = Methods("min-max", equalize=False, correct_biases=False, rounding="nearest")
"""The plainest: others would undo what makes the network hard to quantize."""
GUARD = 0.03


@cache
def digits() -> tuple[Array, Array]:
    images, labels = load_digits(return_X_y=True)
    return (images / 16).astype(np.float32), labels


@cache
def network() -> MLPClassifier:
    """A small network whose neurons reach differently far, so that one scale of 8 bits for all of them loses much."""
    images, labels = digits()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that it could learn for longer
        found = MLPClassifier((12, 12), max_iter=60, random_state=0).fit(images[700:], labels[700:])
    reach = 11.0 ** np.linspace(-1, 1, 12)
    for i in (0, 1):
        found.coefs_[i] *= reach
        found.intercepts_[i] *= reach
        found.coefs_[i + 1] /= reach[:, None]
    return found


def calibration() -> Dataset:
    return dataset(digits()[0][700:800])


def labelled(part: slice = slice(0, 400)) -> Dataset:
    images, labels = digits()
    return dataset((images[part], labels[part]), labelled=True)


def mixed(**options: object) -> Mixed:
    given = {
        "target": "cortex-m4",
        "precisions": TWO,
        "methods": METHODS,
        "max_accuracy_drop": GUARD,
        "measure": False,
    }
    return quantize.mix(network(), calibration(), labelled(), **given | options)  # type: ignore[no-any-return]


def task() -> MixedPrecisionTask:
    settings = mote.Settings(targets.load("cortex-m4"))
    return MixedPrecisionTask(source_of(network()), calibration(), labelled(), "", METHODS, "int8", settings)


@pytest.fixture(scope="module")
def journal(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("mixer") / "journal"


@pytest.fixture(scope="module")
def found(journal: Path) -> Mixed:
    return mixed(journal=journal, validate=labelled(slice(400, 700)))


@pytest.mark.slow
def test_the_result_can_be_read(found: Mixed) -> None:
    assert_readable(found)


@pytest.mark.slow
def test_the_guard_binds_and_is_kept(found: Mixed) -> None:
    uniform = {p.name: p for p in (*found.points, *found.dominated) if p.name != "mixed"}
    assert not uniform["int8"].kept and uniform["int16"].kept, "neither all layers nor none"
    assert set(found.chosen.precisions) == set(TWO)
    assert found.chosen.instructions < uniform["int16"].instructions
    assert found.test.samples == 400 and found.test.lost <= GUARD and found.chosen.kept


@pytest.mark.slow
def test_nothing_cheaper_keeps_the_guard(found: Mixed) -> None:
    """Of all choices."""
    every = {choice: tried(task(), Trial(choice)) for choice in product(TWO, repeat=3)}
    exact = tried(task(), Trial(()))
    kept = [result["costs"]["instructions"] for result in every.values() if loss(result, exact) <= GUARD]
    assert found.chosen.instructions == min(kept)
    for point in (*found.points, *found.dominated):
        assert (point.value, point.ram) == (every[point.precisions]["value"], every[point.precisions]["costs"]["ram"])


@pytest.mark.slow
def test_the_file_is_what_was_evaluated(found: Mixed, tmp_path: Path) -> None:
    found.quantized.write(str(tmp_path / "model.tflite"))
    assert mote.score(str(tmp_path / "model.tflite"), labelled()).value == found.test.value
    layers = [x.precision for x in found.quantized.layers if x.op == "FULLY_CONNECTED"]
    assert tuple(layers) == found.chosen.precisions == tuple(x.precision for x in found.layers)


def test_what_is_told(found: Mixed) -> None:
    for layer in found.layers:
        eight, sixteen = layer.sensitivities
        assert (eight.precision, sixteen.precision) == TWO and eight.noise is not None and sixteen.noise is not None
    assert found.validation is not None and found.validation.samples == 300
    said = found.json()
    assert said["chosen"]["precisions"] == list(found.chosen.precisions) and len(said["layers"]) == 3
    assert len(said["points"]) + len(said["dominated"]) == found.evaluations <= 8
    picture = ElementTree.fromstring(found.svg())
    dots = [c for c in picture.iter("{http://www.w3.org/2000/svg}circle") if c.get("class") == "point"]
    assert len(dots) == 3 * found.evaluations


@pytest.mark.slow
def test_a_search_goes_on_from_its_journal(found: Mixed, journal: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = len(Journal(journal))
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(b"".join(lines[:-2]) + lines[-2][:30])
    again = mixed(journal=journal, validate=labelled(slice(400, 700)))
    assert again.json() == found.json() and len(Journal(journal)) == known
    monkeypatch.setattr("mote.optimize.compress.mixed_precision.task.score", None)  # nothing is evaluated any more
    assert mixed(journal=journal).chosen == found.chosen


@pytest.mark.slow
def test_another_process_finds_the_same(found: Mixed) -> None:
    assert mixed(workers=1, validate=labelled(slice(400, 700))).json() == found.json()


@pytest.mark.slow
def test_a_cluster_finds_the_same(found: Mixed, scheduler: str) -> None:
    assert mixed(scheduler=scheduler, validate=labelled(slice(400, 700))).json() == found.json()


@pytest.mark.slow
def test_points_are_measured_where_the_tools_are(journal: Path, found: Mixed) -> None:
    measured = mixed(journal=journal, target=emulated("cortex-m4"), measure=None)
    assert measured.tools and all(p.measured for p in measured.points)
    run = mote.run(mote.compile(measured.quantized.source, target="cortex-m4"), layers=False)
    costs = measured.chosen.measured
    assert costs is not None and (run.instructions, run.flash.total) == (costs["instructions"], costs["flash"])
    assert costs["instructions"] == min(p.cost("instructions") for p in measured.points if p.kept)


def test_a_guard_that_nothing_keeps(journal: Path, found: Mixed) -> None:
    with pytest.raises(
        MoteError, match=r"no choice of int8 is within the allowed accuracy drop: .* more than the 1\.00% that may"
    ) as error:
        mixed(journal=journal, precisions=("int8",), max_accuracy_drop="1%")
    assert "int4, int16, float32" in error.value.remedy


def test_much_calibration_data() -> None:
    """Of which some is taken, the same for the search as for the file."""
    found = quantize.mix(
        network(), digits()[0], labelled(), max_accuracy_drop="90%", precisions=("int8",), methods=METHODS, samples=40
    )
    assert found.quantized.samples == 40
    assert mote.score(found.quantized.source, labelled()).value == found.test.value


def test_a_budget_of_evaluations_is_kept(journal: Path, found: Mixed) -> None:
    few = mixed(journal=journal, evaluations=2)
    assert few.evaluations == 2 and few.chosen.name == "int16" and few.test.lost <= GUARD


def test_real_numbers_that_are_the_only_choice() -> None:
    with pytest.raises(MoteError, match="float in all layers is the cheapest choice within the allowed accuracy drop"):
        mixed(precisions=("float32",), max_accuracy_drop=0)


def test_more_samples_than_a_search_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The search sees some samples, on which all choices are equal: the guard is on all of them."""
    monkeypatch.setattr("mote.optimize.compress.mixed_precision.task.SEARCHED", 40)
    monkeypatch.setattr("mote.optimize.compress.mixed_precision.search.SEARCHED", 40)
    result = mixed()
    assert result.test.samples == 400 and result.test.lost <= GUARD
    assert result.test.value == mote.score(result.quantized.source, labelled()).value


def test_few_samples_are_doubted() -> None:
    images, labels = digits()
    result = quantize.mix(
        network(), calibration(), (images[:50], labels[:50]), precisions=("int16",), max_accuracy_drop="1%"
    )
    assert any("one of 50 samples is more than the 1.00% that may be lost" in x for x in result.warnings)


@pytest.mark.parametrize("text", ["1", "-1%", "much", "100%", "", "nan%"])
def test_drops_that_mean_nothing(text: str) -> None:
    with pytest.raises(MoteError, match="no part of the accuracy"):
        drop(text)


def test_drops() -> None:
    assert (drop("1%"), drop(0.01), drop("0"), drop(" 0.5% ")) == (0.01, 0.01, 0.0, 0.005)
    assert loss({"value": 0.9}, {"value": 0.95, "better": "higher"}) == pytest.approx(0.05)
    assert loss({"value": 1.1}, {"value": 1.0, "better": "lower"}) == pytest.approx(0.1)
    assert loss({"value": 0.0}, {"value": 0.0, "better": "lower"}) == 0


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"precisions": ("int8", "int9")}, "'int9' is no precision to choose from"),
        ({"precisions": ()}, "no precision to choose from"),
        ({"cheapest": "money"}, "'money' is not one of"),
        ({"evaluations": 0}, "evaluations"),
        ({"measure": True, "target": "host"}, "not counted on the host"),
    ],
)
def test_options_that_mean_nothing(options: dict[str, object], reason: str) -> None:
    with pytest.raises(MoteError, match=reason):
        mixed(**options)


def test_of_equal_choices_the_one_with_less_noise(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where costs and accuracy are the same, int8 is chosen and not int4, whose name comes first."""
    exact = mixing.score
    monkeypatch.setattr(mixing, "score", lambda *given: replace(exact(*given), value=0.9))
    monkeypatch.setattr(
        MixedPrecisionTask, "costs", lambda self, graph: {"instructions": 1000, "flash": 100, "ram": 10}
    )
    found = mixed(precisions=("int4", "int8"))
    assert found.chosen.name == "int8"
    noise = {p.name: p.noise for p in (*found.points, *found.dominated)}
    assert noise["int8"] is not None and noise["int4"] is not None and noise["int8"] > noise["int4"] + 6


def test_tasks_are_sent_without_what_follows_from_them() -> None:
    given = task()
    assert len(given.units) == 3 and "units" not in given.__getstate__()
    assert replace(given, metric="top2").key != given.key


@pytest.mark.slow
def test_convolutions() -> None:
    """The choice is close to the best of all 64, of which fewer are evaluated."""
    images, labels = load_digits().images[..., None].astype(np.float32) / 16, load_digits().target
    test, two = dataset((images[300:700], labels[300:700])), ("int4", "int16")
    options = {"target": "cortex-m4", "precisions": two, "methods": METHODS, "measure": False}
    found = quantize.mix(CONVOLUTIONS, images[:100], test, max_accuracy_drop=0, **options)
    settings = mote.Settings(targets.load("cortex-m4"))
    every = MixedPrecisionTask(source_of(CONVOLUTIONS), dataset(images[:100]), test, "", METHODS, "int8", settings)
    exact = tried(every, Trial(()))
    results = [tried(every, Trial(choice)) for choice in product(two, repeat=6)]
    best = min(r["costs"]["instructions"] for r in results if loss(r, exact) <= 0)
    assert found.test.lost <= 0 and found.evaluations <= 40
    assert found.chosen.instructions <= 1.05 * best
