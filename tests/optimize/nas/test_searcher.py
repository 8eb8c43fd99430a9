"""The loop of a search, with families that are formulas: what fits, the front, resuming, workers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import mote
from mote.base.errors import MoteError
from mote.compiler.settings import make_settings
from mote.frontends import load
from mote.optimize.nas.candidates import AXES, CandidateEvaluator, SearchCandidate, SearchEffort, ranked, spread
from mote.optimize.nas.costs.network_costs import CostLimits, DoesNotFit, NetworkCosts
from mote.optimize.nas.evolution import beginning, evolve
from mote.optimize.nas.family import FinishedMember
from mote.optimize.nas.halving import halve, rungs
from mote.optimize.nas.network_family import NetworkFamily
from mote.optimize.nas.result import SearchResult
from mote.optimize.nas.searcher import SearchPlan, SearchSubject, search_families
from mote.optimize.nas.spaces.space import SearchSpace
from mote.optimize.nas.spaces.stage import SpaceStage
from mote.optimize.nas.tasks import learning_tasks
from mote.optimize.search import front, running
from tests.optimize.nas.stand_in_family import StandInFamily

MODELS = Path(__file__).parents[3] / "models"
PLAN = SearchPlan(epochs=9, trials=20, finalists=3)


def costs(made: FinishedMember) -> NetworkCosts | DoesNotFit:
    return NetworkCosts(round(1e4 * made.validation), 100, 100)


def subject(*families: StandInFamily, cost: Any = costs) -> SearchSubject:
    (task,) = learning_tasks(mote.dataset(MODELS / "digits_train.npz"))
    test = mote.dataset(MODELS / "digits_test.npz")
    return SearchSubject(task, families, test, make_settings("cortex-m4"), CostLimits(ram=1000), cost)


def facts(result: SearchResult) -> dict[str, Any]:
    return {name: value for name, value in result.json().items() if name != "spent"}


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("shared", [True, False], ids=["evolution", "halving"])
def test_search(shared: bool, tmp_path: Path) -> None:
    result = search_families(subject(StandInFamily(shared=shared)), PLAN)
    assert result.trials >= 20 and result.costed > result.trials
    assert all(m.test > 0.9 and m.choice["width"] <= 10 for m in result.members)
    assert result.best.validation == max(m.validation for m in (*result.members, *result.dominated))
    assert result[result.best.name] is result.best
    result.write(tmp_path / "best")
    written = json.loads((tmp_path / "best" / "search.json").read_text())
    assert written == {**json.loads(json.dumps(result.json())), "command": result.command(str(tmp_path / "best"))}
    assert written["spent"]["seconds"] > 0 and written["spent"]["cpu_seconds"] > 0
    for member in result.members:
        assert (tmp_path / "best" / member.name / "model.tflite").read_bytes() == member.data
        assert (tmp_path / "best" / member.name / "c" / "Makefile").is_file()
    page = (tmp_path / "best" / "report.html").read_text()
    assert "mote evaluate" in page and "data:image/svg+xml" in page and result.best.name in page


def test_steps_of_data_are_in_the_commands() -> None:
    """Those that data was read with come before those of a model."""
    given = subject(StandInFamily())
    given = replace(given, test=mote.dataset(MODELS / "digits_test.npz", preprocess="scale=1"))
    result = search_families(given, PLAN)
    assert result.preprocess == "scale=1" and "--preprocess scale=1" in result.command()
    told = {"target": "mine.toml", "trust-target": True, "labels": "kind", "space": ["one.toml", "two"]}
    page = replace(result, members=(replace(result.best, steps="offset=0"),), options=told).report()
    assert "--labels kind --preprocess scale=1,offset=0" in page
    assert "mote compile best/stand-in-1/model.tflite --target mine.toml --trust-target --ram 1000 -o" in page
    assert "--space one.toml --space two" in page


def test_the_most_accurate_is_reached() -> None:
    """Evolution gets to the widest and deepest choice that fits, of 400."""
    family = StandInFamily(shared=True)
    with running((family,)) as runner:
        evaluator, rng = CandidateEvaluator((family,), runner), Random(1)
        scored = evolve(evaluator, beginning(evaluator, [0], 48, rng), 150, rng)
    assert max(c.accuracy for c in scored) >= 0.99 * family.score({"width": 10, "depth": 20}, 0)
    keys = [c.key for c in scored]
    assert len(set(keys)) == len(keys) == 150


def test_nothing_fits() -> None:
    with pytest.raises(MoteError, match=r"none of .* fits: takes 100 bytes of RAM, 10 are allowed"):
        search_families(subject(StandInFamily(ram=10)), PLAN)


def test_a_finalist_that_does_not_fit_is_left_out() -> None:
    def last(made: FinishedMember) -> NetworkCosts | DoesNotFit:
        return DoesNotFit("takes too much") if made.validation > 0.8 else costs(made)

    result = search_families(subject(StandInFamily(), cost=last), PLAN)
    assert any("does not fit: takes too much" in note for note in result.notes)
    assert any("95% interval" in note and "largest class" in note for note in result.notes)
    with pytest.raises(MoteError, match="no trained model fits"):
        search_families(subject(StandInFamily(), cost=lambda _: DoesNotFit("takes too much")), PLAN)


def test_what_cannot_be_trained_is_left_out() -> None:
    """A failure of one candidate is a note, and no end of the search."""
    plan = SearchPlan(epochs=9, trials=40, finalists=8)
    result = search_families(subject(StandInFamily(broken=8)), plan)
    assert all(m.choice["width"] in (2, 4, 6) for m in (*result.members, *result.dominated))
    assert any("could not be finished: odd widths cannot be written" in note for note in result.notes)
    for shared in (True, False):
        with pytest.raises(MoteError, match="no candidate could be trained"):
            search_families(subject(StandInFamily(broken=1, shared=shared)), plan)


def test_both_kinds_of_families() -> None:
    result = search_families(subject(StandInFamily("one", shared=True), StandInFamily("two")), PLAN)
    assert result.families == ("one", "two")
    assert {m.family for m in (*result.members, *result.dominated)} == {"one", "two"}


class Killed(BaseException):
    """The end of a search in the middle."""


def test_resumed(tmp_path: Path) -> None:
    """A search that was killed goes on where it was, and ends as one that was not."""
    journal, log = tmp_path / "journal.jsonl", tmp_path / "log"
    asked = subject(StandInFamily(log=str(log)))
    said: list[str] = []

    def die(text: str) -> None:
        said.append(text)
        if len(said) == 12:
            raise Killed

    with pytest.raises(Killed):
        search_families(asked, replace(PLAN, journal=journal), say=die)
    before = log.read_text().splitlines()
    resumed = search_families(asked, replace(PLAN, journal=journal))
    lines = log.read_text().splitlines()
    assert before == lines[: len(before)] and len(set(lines)) == len(lines)
    assert facts(resumed) == facts(search_families(subject(StandInFamily()), PLAN))


def test_workers() -> None:
    families = StandInFamily("one", shared=True), StandInFamily("two")
    plan = SearchPlan(epochs=3, trials=6, finalists=2)
    assert facts(search_families(subject(*families), replace(plan, workers=2))) == facts(
        search_families(subject(*families), plan)
    )


def test_time_is_kept() -> None:
    """When the time is spent, one trial and one finalist are there."""
    result = search_families(subject(StandInFamily()), SearchPlan(minutes=1e-9))
    assert result.trials == 1 and len(result.members) == 1


def test_plans() -> None:
    for options in ({"epochs": 0}, {"trials": 0}, {"finalists": 0}, {"minutes": 0.0}):
        with pytest.raises(MoteError):
            SearchPlan(**options)


@pytest.mark.parametrize("trials", [5, 6, 20, 100])
@pytest.mark.parametrize("epochs", [1, 2, 9, 30])
def test_rungs(trials: int, epochs: int) -> None:
    made = rungs(trials, epochs, 4)
    assert made[0][0] == trials and all(1 <= budget <= max(1, epochs // 3) for _, budget in made)
    assert made == sorted(made, key=lambda rung: (-rung[0], rung[1]))
    family = StandInFamily()
    with running((family,)) as runner:
        left = halve(CandidateEvaluator((family,), runner, SearchEffort()), [0], trials, epochs, 4, seed=0)
    assert len(left) == made[-1][0] and {c.epochs for c in left} == {made[-1][1]}


def test_as_many_candidates_as_finalists_are_only_trained_to_the_end(tmp_path: Path) -> None:
    log = tmp_path / "log"
    plan = SearchPlan(epochs=9, trials=3, finalists=3)
    result = search_families(subject(StandInFamily(log=str(log))), plan)
    assert len(log.read_text().splitlines()) == 3 and log.read_text().count("9 epochs") == 3
    assert result.trials == 0 and len((*result.members, *result.dominated)) == 3


def test_ranks() -> None:
    rng = Random(0)
    some = [
        SearchCandidate(0, {"n": n}, NetworkCosts(rng.randint(1, 99), rng.randint(1, 99), rng.randint(1, 99)), n / 60)
        for n in range(60)
    ]
    order = ranked(some)
    assert sorted(c.key for c in order) == sorted(c.key for c in some)
    good = [c for c in some if c.accuracy >= 0.7 * 59 / 60]
    assert {c.key for c in order[: len(good)]} == {c.key for c in good}
    best = front(good, *AXES)
    assert {c.key for c in order[: len(best)]} == {c.key for c in best}
    chosen = spread(best, 5)
    assert len({c.key for c in chosen}) == 5 and chosen[0].accuracy == max(c.accuracy for c in best)


def test_spectrograms_are_augmented_unless_nothing_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("torch", reason="networks are trained in PyTorch")
    trained: list[str] = []

    def stop(subject: SearchSubject, *_: object, **__: object) -> None:
        trained.extend(family.augment for family in subject.families if isinstance(family, NetworkFamily))
        raise MoteError("stopped")

    monkeypatch.setattr("mote.optimize.nas.searcher.search_families", stop)
    words = (np.random.default_rng(0).normal(size=(8, 49, 10, 1)).astype(np.float32), np.arange(8) % 2)
    for given in ("", "none", "noise=0.1"):
        with pytest.raises(MoteError, match="stopped"):
            mote.search(words, test=words, space="temporal", augment=given, target="cortex-m4")
    assert trained == ["time=5,stretch=0.15", "", "noise=0.1"]


def test_bytes_of_images_are_trained_and_tested_as_floats() -> None:
    pytest.importorskip("torch", reason="networks are trained in PyTorch")
    train, test = (mote.dataset(MODELS / f"digits_{part}.npz", labelled=True) for part in ("train", "test"))
    few, other = ((np.rint(255 * data.inputs["x"][:60]).astype(np.uint8), data.labels[:60]) for data in (train, test))
    space = SearchSpace("one", (SpaceStage("separable", width=8),), stem=SpaceStage("conv", width=4, stride=2))
    result = mote.search(
        few,
        test=other,
        space=space,
        validate=other,
        trials=1,
        finalists=1,
        epochs=1,
        device="cpu",
        seed=3,
        augment="shift=1",
        precision="int4",
        target="cortex-m4",
        optimize="size",
        cycles=9_000_000,
    )
    assert result.best.test == mote.score(result.best.data, mote.dataset(other, preprocess="float")).value
    assert "--preprocess float" in result.report()
    constants = [tensor.data for tensor in load(result.best.data).tensors.values() if tensor.data is not None]
    weights = [values for values in constants if values.dtype == np.int8 and values.ndim > 1]
    assert len(weights) == 4 and all(np.abs(values).max() == 7 for values in weights), "four bits"
    told = (
        "--space one --precision int4 --trials 1 --finalists 1 --augment shift=1 --device cpu --optimize size -o best"
    )
    assert result.command().endswith(f"--cycles 9000000 --seed 3 --epochs 1 --validate '60 samples in memory' {told}")


def test_only_the_front_is_planned() -> None:
    """Other candidates of a supernet have estimates; what fits by these only is left out."""
    family = StandInFamily(shared=True)
    with running((family,)) as runner:
        evaluator, rng = CandidateEvaluator((family,), runner), Random(0)
        first = beginning(evaluator, [0], 12, rng)
        assert not any(candidate.planned for candidate in first)
        scored = evolve(evaluator, first, 60, rng)
    best = front(scored, *AXES)
    assert [c.costs for c in best] == [family.costs(c.choice) for c in best]
    assert best == [c for c in front(scored, *AXES) if c.planned]
    assert evaluator.refusals
    assert len(scored) == 60
    assert any(not candidate.planned for candidate in scored)
