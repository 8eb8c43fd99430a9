"""Runs a model on a board with the same results as on an emulator."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from mote.base.errors import MoteError
from mote.deploy.boards.agent.inference import Wants
from mote.deploy.boards.session import BoardSession
from mote.hardware.toolchain import Execution, Mode

WANTS = {
    Mode.MEASURE: Wants(stack=True, marks=True),
    Mode.PROFILE: Wants(steps=True),
    Mode.DUMP: Wants(tensors=True),
}
"""Measurements wanted in each mode; marks are for energy meters and not counted."""


def board_execution(
    session: BoardSession,
    mode: Mode,
    inputs: Sequence[Sequence[bytes]],
    *,
    stateful: bool = True,
    done: Callable[[int], None] = lambda count: None,
) -> Execution:
    """Runs inferences on a board: `Execution.instructions` and `steps` are its counter's cycles.

    `stateful`: inferences depend on previous ones; others are repeated individually after a reset."""
    if mode not in WANTS:
        raise MoteError(f"a board cannot {mode}", where=session.line.name, remedy="use an emulator: omit --board")
    inferences = session.inferences(inputs, WANTS[mode], stateful=stateful, done=done)
    outputs = [inference.outputs for inference in inferences]
    dumps = [dict(inference.tensors) for inference in inferences]
    if mode is Mode.DUMP:
        return Execution(outputs, dumps, None, None, None)
    cycles = [inference.cycles for inference in inferences if inference.cycles is not None]
    steps = [inference.steps for inference in inferences if inference.steps is not None]
    stacks = [inference.stack for inference in inferences if inference.stack is not None]
    return Execution(
        outputs,
        dumps,
        cycles if len(cycles) == len(inferences) else None,
        steps if mode is Mode.PROFILE else None,
        max(stacks, default=None),
    )
