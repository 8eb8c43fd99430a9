"""Damaged plans: the checker and the executor, which share no code, agree on what is a plan and what is none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from random import Random

import numpy as np
import pytest

from mote.bench.execute.stimuli import stimuli
from mote.compiler.kernels.contract import NHWC
from mote.compiler.kernels.pack.planar import Planar
from mote.compiler.plan.check import PlanError, check
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.plan import KEPT, Plan, SplitKernel
from mote.compiler.plan.planner import plan
from mote.compiler.plan.selection.request import Lowering
from mote.ir.graph import Graph
from mote.ir.ops.common import Axis
from mote.ir.ops.elementwise.activations import LeakyRelu, Logistic
from mote.ir.ops.elementwise.arithmetic import Add, Mul
from mote.ir.ops.features.filters import RemoveDc
from mote.ir.ops.moves.pad_concat_transpose import Concatenation
from mote.ir.ops.reductions.mean import Mean
from tests.compiler.lower.executor import CorruptError, execute
from tests.compiler.plan.graphs import AddingMean, AddingPool, GraphNet
from tests.helpers.chains import Link, chain

SAME = Axis(3, 1, 1, 1, 1)
TRIES = 90


def residual() -> Graph:
    net = GraphNet()
    x = net.conv(net.input(1, 9, 5, 3), 4, SAME, SAME)
    y = net.op(Add, x, net.conv(net.op(LeakyRelu, net.depthwise(x, SAME, SAME), alpha=0.3), 4))
    z = net.op(Concatenation, y, net.conv(y, 2, SAME, SAME), axis=3)
    return net.graph(net.op(AddingPool, z, vertical=Axis(9), horizontal=Axis(5)), y)


def two_sums() -> Graph:
    """Two running sums at a time, and a gate that every row needs."""
    net = GraphNet()
    x = net.conv(net.input(1, 8, 4, 4), 8, Axis(2, 2), SAME)
    means = net.op(AddingMean, x, axes=(1, 2), keep_dims=True)
    gate = net.op(Logistic, net.conv(means, 8), quant=(1 / 256, -128))
    scaled = net.op(Mul, x, gate)
    a, b = net.op(AddingMean, scaled, axes=(1, 2)), net.op(AddingMean, net.conv(scaled, 8), axes=(1, 2))
    return net.graph(net.op(Add, a, b))


def wide() -> Graph:
    """Rows of other layouts, and a tensor that is seen as other rows."""
    net = GraphNet()
    x = net.conv(net.input(1, 6, 28, 2), 4)
    x = net.conv(net.depthwise(x, SAME, SAME), 3)
    x = net.conv(net.reshape(x, 1, 12, 14, 3), 2, SAME, SAME)
    return net.graph(net.op(Mean, x, axes=(1,), keep_dims=True))


def over_time() -> Graph:
    """Rows of one pixel, and a kernel that writes row y over row y of its input, which other rows need as well."""
    net = GraphNet()
    x = net.conv(net.input(1, 12, 1, 4), 8)
    return net.graph(net.conv(net.depthwise(x, Axis(5), Axis(1)), 8))


def filtered() -> Graph:
    """Two filters that update their states with each row."""
    links = (Link(RemoveDc, {"shift": shift}, [np.array([5 << 15, -3], np.int32)]) for shift in (2, 3))
    return chain((1, 7, 3, 2), *links)


PLANS = {
    "residual": lambda: plan(residual(), Lowering(), Goal(least=True)),
    "pushed": lambda: plan(residual(), Lowering(), Goal(pushed=True)),
    "sums": lambda: plan(two_sums(), Lowering(), Goal(pushed=True)),
    "whole": lambda: plan(two_sums(), Lowering(), Goal()),
    "planar": lambda: plan(wide(), Lowering(frozenset({"dsp"})), Goal(pushed=True)),
    "over its input": lambda: plan(over_time(), Lowering(frozenset({"dsp"})), Goal()),
    "sequential": lambda: plan(filtered(), Lowering(), Goal(pushed=True)),
    "two cores": lambda: plan(residual(), Lowering(), Goal(cores=2)),
    "two cores, planar": lambda: plan(wide(), Lowering(frozenset({"dsp"})), Goal(cores=2)),
}

Mutation = Callable[[Plan, Random], Plan]


def with_buffer(planned: Plan, i: int, offsets: list[int | None]) -> Plan:
    buffers = list(planned.buffers)
    buffers[i] = replace(buffers[i], offsets=tuple(offsets))
    return replace(planned, buffers=tuple(buffers))


def some_row(planned: Plan, random: Random) -> tuple[int, int, list[int | None]]:
    """A buffer of a tensor in the arena, a row of it that is placed, the offsets of all its rows."""
    buffers = [(i, b) for i, b in enumerate(planned.buffers) if b.tensors and b.memory != KEPT]
    rows = [(i, y) for i, b in buffers for y, o in enumerate(b.offsets) if o is not None]
    i, y = random.choice(rows)
    return i, y, list(planned.buffers[i].offsets)


def moved_row(planned: Plan, random: Random) -> Plan:
    i, y, offsets = some_row(planned, random)
    offsets[y] = (offsets[y] or 0) + random.choice((-8, -4, 4, 8, 1))
    return with_buffer(planned, i, offsets)


def row_over_another(planned: Plan, random: Random) -> Plan:
    i, y, offsets = some_row(planned, random)
    j, z, _ = some_row(planned, random)
    offsets[y] = planned.buffers[j].offsets[z]
    return with_buffer(planned, i, offsets)


def swapped_rows(planned: Plan, random: Random) -> Plan:
    i, y, offsets = some_row(planned, random)
    z = random.choice([z for z, o in enumerate(offsets) if o is not None])
    offsets[y], offsets[z] = offsets[z], offsets[y]
    return with_buffer(planned, i, offsets)


def moved_tensor(planned: Plan, random: Random) -> Plan:
    i, _, offsets = some_row(planned, random)
    by = random.choice((-planned.buffers[i].row_bytes, -4, 4, planned.buffers[i].row_bytes))
    return with_buffer(planned, i, [None if o is None else o + by for o in offsets])


def other_layout(planned: Plan, random: Random) -> Plan:
    """The output of an operator in another layout than that of those that read it."""
    chosen = random.choice([s for s in planned.steps if planned.op(s).inputs])
    writes = NHWC if chosen.kernel.needs.writes != NHWC else Planar(256, 1)
    kernel = replace(chosen.kernel, needs=replace(chosen.kernel.needs, writes=writes))
    if isinstance(kernel, SplitKernel):
        kernel = replace(kernel, alone=replace(kernel.alone, needs=replace(kernel.alone.needs, writes=writes)))
    steps = (replace(s, kernel=kernel) if s.ops == chosen.ops else s for s in planned.steps)
    return replace(planned, steps=tuple(steps))


def moved_work(planned: Plan, random: Random) -> Plan:
    """Working memory or sums elsewhere, in all steps of an operator."""
    steps = [s for s in planned.steps if s.scratch is not None or s.sums is not None]
    if not steps:
        return planned
    chosen = random.choice(steps)
    what = "sums" if chosen.sums is not None and random.random() < 0.7 else "scratch"
    to = random.randrange(-4, planned.arena, 4)
    return replace(
        planned,
        steps=tuple(
            replace(s, **{what: to}) if s.ops == chosen.ops and getattr(s, what) is not None else s
            for s in planned.steps
        ),
    )


def swapped_steps(planned: Plan, random: Random) -> Plan:
    steps = list(planned.steps)
    i = random.randrange(len(steps) - 1)
    j = min(i + random.choice((1, 1, 2, 5)), len(steps) - 1)
    steps[i], steps[j] = steps[j], steps[i]
    return replace(planned, steps=tuple(steps))


def dropped_step(planned: Plan, random: Random) -> Plan:
    i = random.randrange(len(planned.steps))
    return replace(planned, steps=planned.steps[:i] + planned.steps[i + 1 :])


def step_done_twice(planned: Plan, random: Random) -> Plan:
    i = random.randrange(len(planned.steps))
    return replace(planned, steps=(*planned.steps[:i], planned.steps[i], *planned.steps[i:]))


def other_halves(planned: Plan, random: Random) -> Plan:
    """A step that is split elsewhere, or whose cores have their scratch elsewhere."""
    steps = [s for s in planned.steps if isinstance(s.kernel, SplitKernel)]
    if not steps:
        return planned
    chosen = random.choice(steps)
    assert isinstance(chosen.kernel, SplitKernel)
    change = random.choice(({"at": random.randrange(-1, chosen.rows.hi + 1)}, {"second": random.randrange(0, 64, 2)}))
    split = replace(chosen.kernel, **change)
    return replace(planned, steps=tuple(replace(s, kernel=split) if s is chosen else s for s in planned.steps))


MUTATIONS: tuple[Mutation, ...] = (
    moved_row, row_over_another, swapped_rows, moved_tensor, other_layout, moved_work, swapped_steps, dropped_step,
    step_done_twice, other_halves,
)  # fmt: skip


def checked(planned: Plan) -> str:
    """What the checker objects to."""
    try:
        check(planned)
    except PlanError as error:
        return str(error)
    return ""


def executed(planned: Plan) -> str:
    """What the executor objects to."""
    try:
        execute(planned, stimuli(planned.graph, 1)[0])
    except CorruptError as error:
        return str(error)
    return ""


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("name", PLANS)
def test_the_checker_and_the_executor_agree(name: str) -> None:
    planned = PLANS[name]()
    assert not checked(planned) and not executed(planned)
    random = Random(name)
    refused: Counter[bool] = Counter()
    for n in range(TRIES):
        mutation = MUTATIONS[n % len(MUTATIONS)]
        damaged = mutation(planned, random)
        verdicts = checked(damaged), executed(damaged)
        assert bool(verdicts[0]) == bool(verdicts[1]), (mutation.__name__, verdicts)
        refused[bool(verdicts[0])] += 1
    assert refused[True] > TRIES * 0.6, refused
