"""Operators that update their states with each row: rows run in order, in every schedule and back end."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mote.bench.execute.host_library import HostModel
from mote.compiler.lower.program import Form, program
from mote.compiler.plan.check import PlanError, check
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.planner import plan
from mote.compiler.plan.scheduling.rows import build
from mote.compiler.plan.selection.request import Lowering
from mote.ir.graph import Graph
from mote.ir.ops.features.filters import RemoveDc
from tests.compiler.lower.executor import Machine
from tests.helpers.chains import Link, chain, compiled, evaluated, interpreter, noise
from tests.helpers.offered import offered


def filtered(rows: int, *shifts: int) -> Graph:
    links = (Link(RemoveDc, {"shift": shift}, [np.array([50 << 15, -3], np.int32)]) for shift in shifts or (3, 5))
    return chain((1, rows, 3, 2), *links)


@pytest.mark.quick_cases(3)
@pytest.mark.parametrize("rows", [1, 2, 7, 300])
@pytest.mark.parametrize("goal", [Goal(), Goal(least=True), Goal(pushed=True)], ids=["whole", "least", "pushed"])
def test_rows_run_in_order(rows: int, goal: Goal) -> None:
    graph = filtered(rows)
    planned = plan(graph, Lowering(), goal)
    check(planned)
    machine = Machine(planned, program(planned))
    for signal in noise((1, rows, 3, 2), 2):
        machine.run({0: signal})


def test_a_pushed_row_is_computed_at_once() -> None:
    made = program(plan(filtered(7), Lowering(), Goal(pushed=True)))
    assert [i.form for i in made.instructions] == [Form.ARRIVAL, Form.EACH, Form.EACH]
    assert made.schedule == (0, 1, 2) * 7


def test_rows_run_from_the_top_also_where_others_run_from_below() -> None:
    graph = filtered(4)
    kernels = {(k,): offered(graph, op)[0] for k, op in enumerate(graph.ops)}
    rows = build(graph, list(kernels), kernels.__getitem__, kernels.__getitem__, {}, bottom_up=True)
    assert [[node.rows.lo for node in work.by_rows] for work in rows.works] == [[0, 1, 2, 3]] * 2


def test_rows_out_of_order_are_refused() -> None:
    planned = plan(filtered(4), Lowering(), Goal(pushed=True))
    steps = list(planned.steps)
    one, two = (k for k, s in enumerate(steps) if s.ops == (1,) and s.rows.lo in (1, 2))
    for rows in ((steps[two].rows, steps[one].rows), (steps[one].rows, steps[one].rows)):
        wrong = steps.copy()
        wrong[one], wrong[two] = replace(steps[one], rows=rows[0]), replace(steps[two], rows=rows[1])
        with pytest.raises(PlanError, match="each row once, from the top"):
            check(replace(planned, steps=tuple(wrong)))


@pytest.mark.parametrize("options", [{}, {"input": "rows"}], ids=["whole", "pushed"])
def test_c_and_images_keep_the_states(options: dict[str, str]) -> None:
    graph, signals = filtered(6), noise((1, 6, 3, 2), 4)
    wanted = evaluated(graph, signals)
    made = compiled(graph, **options)
    (outputs,) = HostModel(made).run([{0: x} for x in signals], stream=True)
    np.testing.assert_array_equal(outputs.reshape(-1), np.concatenate(wanted).reshape(-1))
    it = interpreter(made.plan)
    for k, signal in enumerate(signals):
        if options:
            for row in signal[0]:
                it.push_rows(row[None, None])
        else:
            it.set_tensor(0, signal)
            it.invoke()
        np.testing.assert_array_equal(it.get_tensor(1), wanted[k])
        if k == 1:
            kept = it.save()
    it.restore(kept)
    for signal in signals[2:]:
        it.push_rows(signal) if options else (it.set_tensor(0, signal), it.invoke())
    np.testing.assert_array_equal(it.get_tensor(1), wanted[-1])
