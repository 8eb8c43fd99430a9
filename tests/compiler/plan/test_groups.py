"""Kernels that want several rows at once: the planner gives them the rows, and accounts for the memory."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from itertools import pairwise

import pytest

from mote import compile, pack, verify
from mote.bench.execute.stimuli import stimuli
from mote.compiler.kernels.contract import Packed
from mote.compiler.passes.rewriting import strip_io
from mote.compiler.plan.goal import Goal
from mote.compiler.plan.memory import layout
from mote.compiler.plan.plan import Plan
from mote.compiler.plan.prepared import PreparedPlans
from mote.compiler.plan.selection.candidates import Candidates
from mote.compiler.plan.selection.config import LEAN
from mote.compiler.plan.selection.request import Lowering, Policy
from mote.compiler.plan.selection.select import Selection
from mote.ir.graph.region import Numbers
from mote.ir.ops.windows.conv import Conv2D
from tests.compiler.lower.executor import execute
from tests.compiler.plan.test_plan import DSP, LEAST, MODELS, PUSHED, model, planned
from tests.helpers.network import Net
from tests.helpers.support import emulated

BALANCED = Lowering(DSP, Policy.BALANCED)


@pytest.fixture(params=(2, 4))
def group(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Convolutions ask for so many rows."""
    size: int = request.param
    variants = Selection.on_one_core.func

    def grouped(self: Selection) -> dict[Numbers, list[Packed]]:
        sizes = {ops: size if isinstance(op, Conv2D) else 1 for ops, op in self.ops.items()}
        return {
            ops: [replace(k, entry=replace(k.entry, group=sizes[ops])) for k in ks]
            for ops, ks in variants(self).items()
        }

    patched = cached_property(grouped)
    patched.__set_name__(Selection, "on_one_core")
    monkeypatch.setattr(Selection, "on_one_core", patched)
    return size


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("goal", (LEAST, PUSHED), ids=("least", "pushed"))
def test_rows_come_in_groups(goal: Goal, group: int) -> None:
    found = planned(model("keywords"), BALANCED, goal)
    by_rows = [s for s in found.steps if isinstance(found.op(s), Conv2D) and not s.whole]
    sizes = {s.rows.hi - s.rows.lo for s in by_rows}
    assert by_rows and max(sizes) == group and sizes <= {group, 25 % group}


@pytest.mark.slow
def test_rows_of_a_group_lie_apart_where_that_is_smaller(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows of other sizes come and go: four side by side seldom find as much room as four for themselves."""

    def arena() -> Plan:
        return planned(strip_io.run(model("kws")), BALANCED, Goal())

    apart = arena()
    in_groups = [s for s in apart.steps if s.rows.hi - s.rows.lo > 1 and not s.whole]
    places = [apart.place[apart.op(s).outputs[0]] for s in in_groups]
    tables = [p.offsets[s.rows.lo : s.rows.hi] for s, p in zip(in_groups, places, strict=True)]
    assert any(b != (a or 0) + p.row_bytes for p, rows in zip(places, tables, strict=True) for a, b in pairwise(rows))
    monkeypatch.setattr(layout, "APART", 2.0)
    assert 1.05 * apart.ram < arena().ram


@pytest.mark.quick_cases(1)
def test_groups_take_more_memory(group: int, monkeypatch: pytest.MonkeyPatch) -> None:
    def least() -> int:
        return PreparedPlans(Candidates(model("keywords")), BALANCED, LEAST).directed(LEAN).least

    grouped = least()
    monkeypatch.undo()
    assert grouped > least()


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("options", ({"least_ram": True}, {"input": "rows"}), ids=("least", "pushed"))
def test_the_c_computes_the_same(options: dict[str, object], group: int) -> None:
    assert verify(compile(MODELS / "keywords.tflite", **options), 2, sanitize=True).passed


def test_two_rows_at_once_where_plans_run_by_rows() -> None:
    """A kernel that has no function for a single row computes two, whatever the plan would like."""
    net, relu = Net(), {"fused_activation_function": "RELU", "quant": (0.05, -128)}
    y = net.conv(net.input(1, 12, 12, 4), 16, 1, **relu)
    y = net.conv(net.depthwise(y, **relu), 16, 1, **relu)
    options = {"least_ram": True, "kernels": {"1": "depthwise_two"}}
    compiled = compile(net.finish(y), target=emulated("cortex-m4"), **options)
    sizes = {s.rows.hi - s.rows.lo for s in compiled.plan.steps if s.kernel.family == "depthwise_two"}
    assert sizes == {2}
    assert verify(compiled, 1).passed


@pytest.mark.parametrize(("options", "first"), [({}, 3), ({"input": "rows"}, 1)], ids=["bottom-up", "top-down"])
def test_groups_end_with_the_last_row_that_those_behind_them_read(options: dict[str, object], first: int) -> None:
    """Four rows behind another four, of which each needs the row above and the one below: groups from row 0 on would
    wait for three rows more."""
    emulated("cortex-m4")
    net = Net(3)
    x = net.conv(net.conv(net.input(1, 18, 32, 8), 16), 16)
    pins = {"0": "winograd4", "1": "winograd4"}
    compiled = compile(net.finish(net.mean(x)), target="cortex-m4", kernels=pins, **options)
    groups = [[(s.rows.lo, s.rows.hi) for s in steps] for op, steps in compiled.plan.works if isinstance(op, Conv2D)]
    ends = [{hi for _, hi in group} for group in groups]
    assert ends == [{*range(first, 18, 4), 18}, {4, 8, 12, 16, 18}]
    execute(compiled.plan, stimuli(compiled.plan.graph, 1)[0])
    assert verify(compiled, 2).passed


def test_images_have_groups_from_row_0_on() -> None:
    net = Net(3)
    data = net.finish(net.mean(net.conv(net.conv(net.input(1, 18, 32, 8), 16), 16)))
    plan = pack(data, target="cortex-m4").plan
    assert all(s.rows.lo % (s.kernel.entry.group or 1) == 0 for s in plan.steps if not s.whole)
