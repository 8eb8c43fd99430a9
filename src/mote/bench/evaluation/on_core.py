"""Runs samples on an emulated core or on boards, and compares outputs with those of the host."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import count as counting

import numpy as np

from mote.base.files import temporary_folder
from mote.base.progress import Say, counted
from mote.base.system import thread_pool
from mote.bench.evaluation.inferences import Posed
from mote.bench.evaluation.result import OnCore
from mote.bench.evaluation.runners import How, rated_by
from mote.bench.execute import reference
from mote.bench.execute.host_library import as_in_model
from mote.bench.measure.runner import Bench, bench
from mote.compiler.compiled import Compiled
from mote.deploy.boards.boards_file import BoardEntry
from mote.deploy.boards.interruption import Interruption
from mote.deploy.boards.pool import board_pool
from mote.hardware.toolchain import Mode
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.tolerance import compare

SAMPLES = 8
"""Default number of samples on an emulated core."""
Groups = Sequence[Sequence[int]]
"""Groups of sample indices; each group runs consecutively, starting from initial states."""


def on_core(
    compiled: Compiled,
    questions: Posed,
    answers: Sequence[Array],
    how: How,
    samples: int | None,
    say: Say,
    compiler: str | None,
    emulator: str | None,
    board: str | None = None,
) -> OnCore | None:
    """Runs samples on the emulated core, or on a board (whose answers are scored if it runs all). None for the host, or
    if not requested."""
    target, graph = compiled.settings.target, compiled.plan.graph
    wanted = samples if samples is not None else SAMPLES if board is None else len(questions)
    if (target.is_host and board is None) or not wanted:
        return None
    chosen = questions.some(wanted)
    say(f"running {len(chosen)} samples on {target.name}")
    runner = SampleRunner(compiled, questions, compiler, emulator, _progress(say, target.name, len(chosen)))
    whole = runner.groups(chosen)
    parts, interruptions = ([runner.run(whole, None)], ()) if board is None else runner.on_boards(chosen, board)
    outputs = {i: given for part in parts for i, given in part.outputs.items()}
    equal, apart = 0, 0.0
    for group in whole:
        sizes = reference.magnitudes(graph)
        for i in group:
            size = sizes(questions.cases[i])
            if i < questions.warm:
                continue
            differences = [
                compare(x, y[i], size.get(t, 0.0)) for t, x, y in zip(graph.outputs, outputs[i], answers, strict=True)
            ]
            apart = max(apart, *(difference for difference, _ in differences))
            equal += not any(wrong for _, wrong in differences)
    counts = [count for part in parts for count in part.counts]
    scored = board is not None and len(chosen) == len(questions)
    return OnCore(
        target.name,
        parts[0].tool if board is None else f"board {board}",
        sum(i >= questions.warm for i in chosen),
        equal,
        apart,
        round(sum(counts) / len(counts)) if counts else None,
        parts[0].unit,
        rated_by(how, graph, np.stack([outputs[i][0] for i in chosen]), questions) if scored else None,
        interruptions,
    )


def _progress(say: Say, name: str, total: int) -> Callable[[int], None]:
    """Progress callback counting the inferences of all boards."""
    finished, progress = counting(1), counted(say, f"samples on {name}")
    return lambda count: progress(min(next(finished), total), total)


@dataclass(frozen=True)
class SamplesRun:
    """Results of the samples that one emulator or board ran."""

    outputs: Mapping[int, list[Array]]
    """Outputs in the model's layout, by sample index."""
    counts: Sequence[int]
    tool: str
    unit: str
    interruptions: tuple[Interruption, ...] = ()


@dataclass(frozen=True)
class SampleRunner:
    """Runs samples of a model on a core; `done` is called after each sample on a board."""

    compiled: Compiled
    questions: Posed
    compiler: str | None
    emulator: str | None
    done: Callable[[int], None]

    def groups(self, chosen: Sequence[int]) -> Groups:
        """Groups of samples that must run consecutively: single samples of a stateful model, or all of a stream."""
        alone = bool(self.compiled.plan.graph.states) and not self.questions.kept
        return [[i] for i in chosen] if alone else [chosen]

    def on_boards(self, chosen: Sequence[int], board: str) -> tuple[list[SamplesRun], tuple[Interruption, ...]]:
        """Runs samples on all boards of a pool in parallel, rerunning those of a lost board elsewhere; returns results
        and interruptions."""
        with board_pool(board) as pool, thread_pool(pool.size) as threads:
            whole = self.groups(chosen)
            divisible = not self.compiled.plan.graph.states
            groups = [chosen[n :: pool.size] for n in range(pool.size)] if divisible else whole
            shares = [groups[n :: pool.size] for n in range(pool.size)]

            def on_one(share: Groups, place: BoardEntry) -> SamplesRun:
                done = self.run(share, place)
                pool.note(place, done.interruptions)
                return done

            runs = threads.map(
                lambda share: pool.evaluate(lambda place: on_one(share, place)),
                [share for share in shares if any(share)],
            )
            return list(runs), pool.interruptions()

    def run(self, groups: Groups, board: BoardEntry | None) -> SamplesRun:
        """Runs groups of samples on one board, or in the emulator."""
        outputs, counts = dict[int, list[Array]](), list[int]()
        with (
            temporary_folder() as folder,
            bench(self.compiled, folder, compiler=self.compiler, emulator=self.emulator, board=board) as on,
        ):
            for group in groups:
                given, instructions = self._executed(on, group)
                counts += instructions
                outputs |= dict(zip(group, given, strict=True))
            facts = on.facts
            return SamplesRun(outputs, counts, on.tools[0], on.counts, () if facts is None else facts.interruptions)

    def _executed(self, on: Bench, group: Sequence[int]) -> tuple[list[list[Array]], list[int]]:
        """Outputs in the model's layout, and instructions of each inference."""
        graph: Graph = self.compiled.plan.graph
        cases = [self.questions.cases[i] for i in group]
        raw = [[np.ascontiguousarray(case[t]).tobytes() for t in graph.inputs] for case in cases]
        run = on.execute(Mode.MEASURE, raw, self.done)
        tensors = [graph.tensors[t] for t in graph.outputs]
        outputs = [
            [
                as_in_model(t, np.frombuffer(x, t.dtype.numpy).reshape(1, *t.shape))[0]
                for t, x in zip(tensors, row, strict=True)
            ]
            for row in run.outputs
        ]
        return outputs, list(run.instructions or ())
