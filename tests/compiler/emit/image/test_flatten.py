"""Programs as images hold them: every mode of a plan has its instructions, and all that they refer to is there."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from mote.base.errors import MoteError
from mote.compiler.emit.image.writer import Details, write
from mote.compiler.lower.program import IMAGE, STATES, Form, Instruction, Kind, Place, Program
from tests.compiler.emit.image.image_models import MODES, image

KERNELS = {Form.WHOLE, Form.ROW, Form.EACH, Form.ROWS, Form.SUMS, Form.RING}
FORMS = {
    "whole": {Form.WHOLE},
    "rows": {Form.WHOLE, Form.ROW, Form.EACH, Form.SUMS},
    "groups": {Form.ROWS},
    "pushed": {Form.ARRIVAL},
    "steps": {Form.EACH, Form.SUMS},
    "stream": {Form.RING},
    "memories": {Form.WHOLE},
    "branches": {Form.BRANCH, Form.JUMP, Form.COPY},
    "turns": {Form.REPEAT},
    "asks": {Form.BRANCH, Form.JUMP},
    "strided": {Form.WHOLE},
    "uneven": {Form.ROW},
    "tall": {Form.ROW},
    "product": {Form.EACH},
}
"""What a plan of each mode must have among its instructions."""


def places(i: Instruction) -> list[Place]:
    return [*([] if i.out is None else [i.out]), *(o.place for o in i.operands)]


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("mode", MODES)
def test_every_mode_becomes_instructions(mode: str) -> None:
    found = image(mode).program
    assert FORMS[mode] <= {i.form for i in found.instructions}
    for i in found.instructions:
        assert (i.kernel is not None) == (i.form in KERNELS)
        for place in places(i):
            check_place(found, place)
        for room in (i.scratch, i.sums):
            assert room is None or room.at + room.nbytes <= found.arenas[room.memory]


def check_place(found: Program, place: Place) -> None:
    """It lies inside of its memory."""
    sizes = {**dict(enumerate(found.arenas)), STATES: found.state_bytes}
    if place.memory == IMAGE:
        assert place.constant is not None and place.end <= place.constant.data.nbytes
    else:
        assert place.end <= sizes[place.memory]
    assert (place.kind is Kind.RING) <= (place.memory == STATES and place.ring < found.rings)


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("mode", MODES)
def test_steps_run_instructions_as_often_as_they_say(mode: str) -> None:
    found = image(mode).program
    assert set(found.schedule) == set(range(len(found.instructions)))
    counters = [i.counter for i in found.instructions if i.counter is not None]
    assert sorted(counters) == list(range(found.counters))
    runs = Counter(found.schedule)
    for number, i in enumerate(found.instructions):
        assert runs[number] == (1 if i.form is Form.REPEAT else i.times)
        assert (i.times > 1) == (i.counter is not None)
        assert i.listed == () or len(i.listed) == i.times
    for i in found.instructions:
        if i.form in (Form.JUMP, Form.BRANCH, Form.REPEAT):
            assert 0 <= i.lo < len(found.schedule)


def test_rows_are_computed_once_each() -> None:
    """The rows that the instructions of a plan by rows compute are those of the plan's steps."""
    for mode in ("rows", "groups", "pushed", "steps", "uneven", "tall"):
        made = image(mode)
        for i, (_, steps) in zip(made.program.instructions, made.plan.works, strict=True):
            if i.form in (Form.ROW, Form.EACH, Form.ROWS, Form.ARRIVAL):
                begins = list(i.listed) or [i.first + n * i.step for n in range(i.times)]
                rows = [y for b in begins for y in range(b, min(b + i.group, i.last) if i.group > 1 else b + 1)]
                assert rows == [y for s in steps for y in range(s.rows.lo, s.rows.hi)]


def test_several_memories_are_used() -> None:
    found = image("memories").program
    assert len(found.arenas) == 2 and all(found.arenas)
    assert {p.memory for i in found.instructions for p in places(i)} == {0, 1}


def test_constants_are_operands_that_lie_in_the_image() -> None:
    found = image("turns").program
    given = [p for i in found.instructions for p in places(i) if p.memory == IMAGE]
    assert all(p.constant is not None for p in given)


def test_rows_without_a_formula_are_listed_and_tall_tensors_come_in_groups() -> None:
    uneven = [o for i in image("uneven").program.instructions for o in i.operands if o.listed]
    assert uneven and all(len(o.listed) % o.taps == 0 for o in uneven)
    grouped = [i for i in image("tall").program.instructions if i.group > 1]
    assert grouped and all(i.last > 0 for i in grouped)


def test_a_tensor_in_one_piece_has_memory_for_rows_that_nobody_needs() -> None:
    """The pool skips the last row; the kernel before it is called for a tensor that has one."""
    found = image("strided").program
    assert next(i.out.rows for i in found.instructions if i.out is not None) == 9


def test_control_flow_ends_in_a_copy_of_nothing_that_stands_for_the_operator() -> None:
    for mode in ("branches", "turns", "asks"):
        made = image(mode)
        numbers = [k for k, (op, _) in enumerate(made.plan.works) if op.bodies]
        assert numbers
        for k in numbers:
            end = made.program.instructions[k]
            assert (end.form, end.hi, end.operands[0].place) == (Form.COPY, 0, end.out)


def test_a_loop_with_a_known_number_of_turns_counts_them() -> None:
    found = image("turns").program
    (repeat,) = [k for k, i in enumerate(found.instructions) if i.form is Form.REPEAT]
    begin, end = found.instructions[repeat].lo, found.schedule.index(repeat)
    assert found.instructions[repeat].times == 20 and begin < end
    assert not any(i.form is Form.BRANCH for i in found.instructions)


def test_a_step_that_writes_several_tensors_is_refused() -> None:
    made = image("whole").program
    first = made.instructions[0]
    several = replace(first, others=(first.target,))
    with pytest.raises(MoteError, match="computes several tensors at once"):
        write(replace(made, instructions=(several, *made.instructions[1:])), Details())
