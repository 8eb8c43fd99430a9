"""Planning grows with the network, and hardly faster: counted in calls of functions, which are the same everywhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import fields, replace
from pathlib import Path

import pytest

import planning
from mote import frontends
from mote.base.progress import silent
from mote.compiler.plan import planner, prepared
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.json_codec import same
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.scheduling.directed_plans import DirectedPlans
from mote.compiler.plan.scheduling.frontier import PlanFront, ScheduleSpace
from mote.compiler.plan.selection.candidates import candidates_of, ordered
from mote.compiler.plan.selection.config import LEAN
from mote.compiler.plan.selection.request import Lowering
from mote.ui.cli import main
from tests.helpers.network import Net

SIDE = 4
"""Pixels: growth shows in small images too."""
MOST_GROWTH = 2.5
"""How many times the work twice the layers may take."""
LAYERS = {"step": 32, "side by side": 32}
"""How many layers the smaller network has, 16 elsewhere: segments of small steps get longer until there are so many,
and fewer layers side by side hardly differ in their kernels."""


CASES = [
    *(("chain", mode) for mode in planning.MODES),
    *(("residuals", mode) for mode in ("balanced", "ram min", "input rows")),
    ("side by side", "balanced"),
]


@pytest.mark.slow
@pytest.mark.parametrize(("family", "mode"), CASES)
def test_twice_the_layers_is_about_twice_the_work(family: str, mode: str) -> None:
    few = max(LAYERS.get(mode, 16), LAYERS.get(family, 16))
    small, large = (planning.work(planning.FAMILIES[family](n, SIDE), **planning.MODES[mode]) for n in (few, 2 * few))
    assert large <= MOST_GROWTH * small, f"{small:,} calls for {few} layers, {large:,} for {2 * few}"


def test_twice_the_width_is_about_twice_the_work() -> None:
    """One-dimensional layers are wide: 43,844 samples of sound, say."""

    def wide(columns: int) -> bytes:
        net = Net()
        return net.finish(net.conv(net.input(1, 1, columns, 1), 1, (1, 8)))

    small, large = (planning.work(wide(columns)) for columns in (512, 1024))
    assert large <= MOST_GROWTH * small, f"{small:,} calls for 512 columns, {large:,} for 1,024"


def test_compiling_plans_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The summary quotes no plan that was not asked for."""
    net = Net()
    model = tmp_path / "model.tflite"
    model.write_bytes(net.finish(net.conv(net.input(1, 4, 4, 1), 2)))
    made, plan_one_memory = [], planner.plan_one_memory
    monkeypatch.setattr(planner, "plan_one_memory", lambda *given: made.append(given) or plan_one_memory(*given))
    assert main(["compile", str(model), "--output", str(tmp_path / "c")]) == 0
    assert len(made) == 1


def test_goals_of_other_limits_share_what_is_prepared(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels are selected once for all points of `mote explore`; the plans are those that are made alone."""
    graph = frontends.load(planning.residuals(8, SIDE))
    selections, select = [], prepared.Selection
    monkeypatch.setattr(prepared, "Selection", lambda *given: selections.append(given) or select(*given))

    def plans(goals: Iterable[Goal]) -> list[Plan]:
        return [planner.plan(graph, Lowering(), goal) for goal in goals]

    least, most = (plan.ram for plan in plans((Goal(least=True), Goal())))
    goals = [Goal(), Goal(least=True), *(Goal(ram=ram) for ram in (least, (least + most) // 2, most))]
    selections.clear()
    shared = plans(goals)
    assert not selections
    for goal, plan in zip(goals, shared, strict=True):
        candidates_of.cache_clear()
        assert same(planner.plan(graph, Lowering(), goal), plan)
    assert selections


def test_memos_are_not_passed_on() -> None:
    """A copy with other fields begins with nothing computed."""
    graph = frontends.load(planning.residuals(8, SIDE))
    kept = prepared.Memo(candidates_of(ordered(graph)))
    first = kept.prepared(Lowering(), Goal(least=True), silent)
    assert kept.prepared(Lowering(), Goal(ram=1), silent) is first
    selection = first.selection(LEAN)
    assert first.selection(LEAN) is selection
    assert replace(first, alone=True).selection(LEAN) is not selection
    memos = [
        f
        for kind in (prepared.PreparedPlans, ScheduleSpace, PlanFront, DirectedPlans)
        for f in fields(kind)
        if f.name[0] == "_"
    ]
    assert len(memos) == 12 and not any(f.init for f in memos)
