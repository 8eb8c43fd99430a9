"""Tuning: the best kernel of every layer is taken, budgets and pins are kept, and a journal or a database spares
trials."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mote.base.errors import BudgetError, MoteError
from mote.compiler.kernels import catalogue
from mote.compiler.kernels.contract import Knob, Packed, Refusal, View
from mote.compiler.line import compile
from mote.compiler.plan.selection.candidates import candidates_of, ordered
from mote.compiler.prepared import prepared
from mote.compiler.settings import make_settings
from mote.compiler.subject import given_model, subject_of
from mote.optimize.search import running
from mote.optimize.tune.database import CostDatabase
from mote.optimize.tune.space import Setup, Space, start_setup, with_flags
from mote.optimize.tune.trials import TuningTask, restored, tried
from mote.optimize.tune.tuner import Best, Tuner, TuningEffort
from tests.optimize.tune.counting import SMALL, Counted

M4 = "cortex-m4"
DIGITS = Path(__file__).parents[3] / "models" / "digits.tflite"


def task(measurer: Counted, target: str = M4, **options: Any) -> TuningTask:
    settings = make_settings(target, **{"optimize": "speed", **options})
    return TuningTask(given_model(SMALL, settings), settings, measurer)


@contextmanager
def tuner(
    of: TuningTask, trials: int | None = None, journal: Path | None = None, costs: Path | None = None
) -> Iterator[Tuner]:
    with running(of, journal=journal) as runner:
        yield Tuner(of, runner, CostDatabase(costs), TuningEffort(600, trials))


def tuned(of: TuningTask, trials: int | None = None, **files: Path) -> tuple[Tuner, Best]:
    with tuner(of, trials, **files) as made:
        return made, made.run()


def cheapest(of: TuningTask, setup: Setup) -> list[int]:
    """The least cycles of each layer of a plan among all kernels that its layouts allow, with the defaults of their
    knobs."""
    plan = of.compile(setup).plan
    graph = prepared(subject_of(of.model).graph, of.settings).whole
    space = Space(candidates_of(ordered(graph)), plan.how, of.settings.costs, places=False)
    measurer = of.measurer
    assert isinstance(measurer, Counted)
    return [
        min(measurer.of(packed) for c in space.kernels(p) if isinstance(packed := space.packed(p, c), Packed))
        for p in space.pieces(plan)
    ]


@pytest.mark.slow
def test_every_layer_has_the_best_of_its_kernels(tmp_path: Path) -> None:
    """And a journal or a database spares trials."""
    journal, costs = tmp_path / "journal", tmp_path / "costs.jsonl"
    first, second, third = Counted(), Counted(), Counted()
    of = task(first)
    made, best = tuned(of, journal=journal, costs=costs)
    assert best.cycles < made.first.cycles
    assert all(t.cycles <= least for t, least in zip(best.trial.times, cheapest(of, best.setup), strict=True))
    assert restored(tried(of, best.setup)) == best.trial
    _, again = tuned(task(second), journal=journal)
    assert again == best and not second.seen
    _, known = tuned(task(third), 4, costs=costs)
    assert known.cycles <= best.cycles


def test_flags_that_pay() -> None:
    with running(of := task(Counted(flags="Os"))) as runner:
        made = Tuner(of, runner, CostDatabase(), TuningEffort(600))
        made.first = made.best = Best(Setup(), restored(tried(of, Setup())))
        made._share(with_flags)
        best = made.best
    assert best.setup.flags == "Os" and best.cycles <= 0.91 * made.first.cycles


def test_within_few_trials() -> None:
    measurer = Counted()
    made, best = tuned(task(measurer), trials=3)
    assert made.effort.tried == len(measurer.seen) == 3 and best.cycles <= made.first.cycles


def test_no_time() -> None:
    measurer = Counted()
    with running(task(measurer)) as runner:
        made = Tuner(task(measurer), runner, CostDatabase(), TuningEffort(0.0))
        assert made.run() == made.first and len(measurer.seen) <= 3


def test_pins_of_the_user_stay() -> None:
    of = task(Counted(), kernels={"0": "conv2d"})
    _, best = tuned(of, trials=10)
    assert "0" not in best.setup.kernels
    kernels = {plan_op.name: steps[0].kernel.family for plan_op, steps in of.compile(best.setup).plan.works}
    assert next(iter(kernels.values())) == "conv2d"


def test_a_budget_is_kept() -> None:
    least = compile(SMALL, target=M4, optimize="speed", ram="min").plan.ram
    made, best = tuned(task(Counted(), ram=least + 100), trials=6)
    assert best.trial.ram <= least + 100 and any(trial.budget for trial in made._trials.values())
    with pytest.raises(BudgetError):
        tuned(task(Counted(), ram=least - 64))


def test_a_kill_leaves_the_journal_usable(tmp_path: Path) -> None:
    class Killed(BaseException):
        pass

    class Ending(Counted):
        def cycles(self, compiled: Any) -> list[int]:
            if len(self.seen) == 6:
                raise Killed
            return super().cycles(compiled)

    journal = tmp_path / "journal"
    with pytest.raises(Killed):
        tuned(task(Ending()), 9, journal=journal)
    journal.write_bytes(journal.read_bytes()[:-9])
    resumed, whole = Counted(), Counted()
    _, best = tuned(task(resumed), 9, journal=journal)
    assert best == tuned(task(whole), 9)[1] and len(resumed.seen) == len(whole.seen) - 5


def _knobs(view: View) -> Mapping[str, tuple[Knob, ...]]:
    return {"columns": (1, 2, 4), "order": ("rows", "channels")}


def _pack(view: View, columns: int = 1, order: str = "rows") -> Packed | Refusal:
    if columns == 4:
        return Refusal("four columns do not fit")
    return next(k for k in catalogue.KERNELS if k.name == "pointwise").pack(view)  # type: ignore[no-any-return]


def _best_with(monkeypatch: pytest.MonkeyPatch, measurer: Counted, pack: Callable[..., Packed | Refusal]) -> Best:
    """The best setup with one more kernel, `turnable`, that has knobs."""
    usual = next(k for k in catalogue.KERNELS if k.name == "pointwise")
    turnable = replace(usual, name="turnable", pack=pack, knobs=_knobs, costs="pointwise4x2_wide")
    monkeypatch.setattr(catalogue, "KERNELS", [*catalogue.KERNELS, turnable])
    settings = make_settings(M4, optimize="speed")
    of = TuningTask(given_model(SMALL + b"\0\0\0\0", settings), settings, measurer)
    with running(of) as runner:
        made = Tuner(of, runner, CostDatabase(), TuningEffort(600))
        made.first = made.best = Best(Setup(), restored(tried(of, Setup())))
        made._kernels(made._search_state())
        return made.best


class Turned(Counted):
    def of(self, kernel: Packed) -> int:
        if kernel.family != "turnable":
            return 1000
        return {"": 900, "2": 850, "channels": 950, "2channels": 700}.get(
            "".join(str(value) for _, value in kernel.knobs), 950
        )


def test_knobs_and_their_combination(monkeypatch: pytest.MonkeyPatch) -> None:
    """A change of one knob pays a little, of the other one costs; both together pay most. A third value is refused."""
    best = _best_with(monkeypatch, Turned(), _pack)
    assert best.setup.kernels["2"] == "turnable[columns=2,order=channels]"


@pytest.mark.slow
def test_a_kernel_that_fits_with_a_knob_only(monkeypatch: pytest.MonkeyPatch) -> None:
    def picky(view: View, columns: int = 1, order: str = "rows") -> Packed | Refusal:
        return _pack(view, columns, order) if columns == 2 else Refusal("two columns only")

    best = _best_with(monkeypatch, Turned(), picky)
    assert best.setup.kernels["2"] == "turnable[columns=2,order=channels]"


@pytest.mark.slow
def test_structure() -> None:
    """A kernel that reads another layout than the one in the plan, or computes layers together, is favoured."""
    settings = make_settings(M4, optimize="speed")
    source = given_model(DIGITS, settings)
    plan = compile(source, settings).plan
    graph = prepared(subject_of(source).graph, settings).whole
    space = Space(candidates_of(ordered(graph)), plan.how, settings.costs, places=False)
    move = space.moves(plan)[0]
    assert not any(steps[0].kernel.family == move.family for _, steps in plan.works)
    with running(of := TuningTask(source, settings, Counted((move.pin,)))) as runner:
        made = Tuner(of, runner, CostDatabase(), TuningEffort(600))
        made.first = made.best = Best(Setup(), restored(tried(of, Setup())))
        made._structure(made._search_state())
    assert move.pin in made.best.setup.kernels.values()
    assert 10 in [time.cycles for time in made.best.trial.times] and made.best.cycles < made.first.cycles


def test_setups() -> None:
    setup = start_setup(make_settings("stm32l4r5", optimize="speed"))
    pinned = setup.pinned({"1": "gemm4[columns=2,constants=ram]", "2": "gemm4[constants=flash]"})
    assert pinned.without_places().kernels == {"1": "gemm4[columns=2]", "2": "gemm4"}
    assert str(replace(pinned, flags="O2", place_code="ram")) == "O2, code in RAM, 2 kernels pinned"


def test_what_cannot_be_measured() -> None:
    import mote

    with pytest.raises(MoteError, match="two cores are not emulated"):
        mote.tune(SMALL, target="rp2040", cores=2)
    with pytest.raises(MoteError, match="nothing to spend"):
        mote.tune(SMALL, target=M4, minutes=0)
    with pytest.raises(MoteError, match="not counted on the host"):
        mote.tune(SMALL)
