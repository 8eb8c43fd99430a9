"""The checker of plans, on plans of control flow with one thing wrong."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from mote.compiler.line import compile
from mote.compiler.plan.check import PlanError
from mote.compiler.plan.check import check as check_plan
from mote.compiler.plan.plan import ControlFlowKernel, Plan
from tests.helpers.support import needs_litert
from tests.ir.ops.control.flows import loops

pytestmark = needs_litert


def corrupted() -> Iterator[tuple[str, Plan]]:
    """Plans of control flow, each with one thing wrong."""
    plan = compile(loops("int8")).plan
    step = plan.steps[1]
    kernel = step.kernel
    assert isinstance(kernel, ControlFlowKernel)
    copies = kernel.copies[-1]

    def changed(**fields: Any) -> Plan:
        steps = [replace(s, kernel=replace(kernel, **fields)) if s is step else s for s in plan.steps]
        return replace(plan, steps=tuple(steps))

    yield "a body needs", changed(needs=replace(kernel.needs, scratch=(kernel.needs.scratch or 0) - 4))
    yield "plans for", changed(plans=kernel.plans[:1], copies=kernel.copies[:1])
    yield "another body's", changed(plans=(kernel.plans[1], kernel.plans[1]))
    yield "does not get where it belongs", changed(copies=((), copies[1:]))
    yield "is copied twice", changed(copies=((), (*copies, copies[-1])))
    yield "still needed", changed(copies=((), tuple(replace(c, staging=None) for c in copies)))
    yield (
        "no place of its own",
        changed(copies=((), tuple(replace(c, staging=None if c.staging is None else 0) for c in copies))),
    )
    yield "writes over what it reads", changed(needs=replace(kernel.needs, in_place=()))


def test_the_checker_sees_what_is_wrong_with_bodies() -> None:
    for reason, plan in corrupted():
        with pytest.raises(PlanError, match=reason):
            check_plan(plan)
