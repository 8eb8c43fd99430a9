"""Programs compute what their graphs do: as C prints them, with bodies, and as images hold them, with jumps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from mote.bench.execute.stimuli import stimuli
from mote.compiler.lower.program import IMAGE, Form, Program, program
from mote.compiler.plan.plan import LENT, Plan
from mote.ir.graph.tensor import Array
from tests.compiler.emit.image.image_models import MODES, image
from tests.compiler.lower.executor import CorruptError, Machine

INFERENCES = 3


def run(plan: Plan, made: Program) -> None:
    """Several inferences, each of which finds what the one before it has left."""
    machine, carried = Machine(plan, made), dict[int, Array]()
    for case in stimuli(plan.graph, INFERENCES):
        values = plan.graph.evaluate({**carried, **case})
        carried = plan.graph.carried(values)
        for t, value in machine.run(case).items():
            assert np.array_equal(value, values[t])


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("mode", MODES)
def test_a_program_computes_what_its_graph_does(mode: str) -> None:
    plan = image(mode).plan
    run(plan, program(plan))


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("mode", MODES)
def test_a_flat_program_computes_what_its_graph_does(mode: str) -> None:
    run(image(mode).plan, image(mode).program)


@pytest.mark.parametrize("mode", ["branches", "turns", "asks"])
def test_bodies_are_programs_of_their_own(mode: str) -> None:
    made = program(image(mode).plan)
    (control,) = [i for i in made.instructions if i.control is not None]
    assert control.kernel is None and all(body.program.instructions for body in control.bodies if body.copies)
    assert not any(i.form > Form.COPY for p in made.all for i in p.instructions)
    assert len(made.all) == len(image(mode).plan.all)
    for body in control.bodies:
        memories = {part.memory for i in body.program.instructions for part in i.memory}
        assert memories <= {0, IMAGE, *(LENT - k for k in range(len(body.lent)))}


def test_a_wrong_address_is_seen() -> None:
    """Of each instruction that reads rows, one that reads others."""
    plan = image("rows").plan
    made = program(plan)
    by_rows = [n for n, i in enumerate(made.instructions) if i.operands and i.operands[0].taps and i.operands[0].step]
    assert by_rows
    for n in by_rows:
        i = made.instructions[n]
        moved = replace(i, operands=(replace(i.operands[0], start=i.operands[0].start + 1), *i.operands[1:]))
        wrong = replace(made, instructions=(*made.instructions[:n], moved, *made.instructions[n + 1 :]))
        with pytest.raises(CorruptError):
            run(plan, wrong)
