"""Measures the cost of an on-device training step."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from mote.base.files import temporary_folder
from mote.bench.measure.runner import bench
from mote.compiler.compiled import Compiled
from mote.compiler.emit.c.programs.golden import FULL
from mote.compiler.line import compile_graph
from mote.compiler.passes.training.labelled import label_values, labelled
from mote.compiler.passes.training.spec import Learner
from mote.deploy.boards.boards_file import BoardEntry
from mote.hardware.toolchain import Mode
from mote.ir.graph.types import StateRole

ROOM = 1 << 10
"""Extra RAM budget of the measured program, whose labels are inputs instead of states."""


def training_step(
    compiled: Compiled, *, compiler: str | None, emulator: str | None, board: str | BoardEntry | None
) -> int | None:
    """Maximum instructions of a labelled inference with its training step, on the self-test's input; None on the host,
    and if the input is pushed by rows. Measured in an equivalent program with the label as an input."""
    settings, spec = compiled.settings, compiled.settings.train
    if compiled.plan.pushed or spec is None:
        return None
    graph = compiled.prepared.learning
    right = next(s for role in (StateRole.TARGET, StateRole.LABEL) for s in graph.states if s.role is role)
    given = label_values(graph, np.zeros_like(right.initial))
    room = None if settings.ram is None else settings.ram + sum(x.nbytes for x in given.values()) + ROOM
    chosen = replace(settings, train=None, train_data=None, postprocess="", ram=room, flash=None)
    program = compile_graph(labelled(graph), chosen)
    planned = program.plan.graph
    case = {**FULL.inputs(planned), **given}
    steps = 1 if isinstance(spec, Learner) else spec.accumulate
    raw = [[np.ascontiguousarray(case[t]).tobytes() for t in planned.inputs]] * steps
    with temporary_folder() as folder, bench(program, folder, compiler=compiler, emulator=emulator, board=board) as on:
        return max(on.execute(Mode.MEASURE, raw).instructions or [], default=None)
