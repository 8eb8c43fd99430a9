"""A trainable model as a host program that runs inferences with or without labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Protocol

import numpy as np

import mote.hardware.targets as targets
from mote.base.errors import MoteError
from mote.base.progress import Done, nobody
from mote.bench.evaluation.score import real
from mote.bench.execute.host_library import SAME_RESULTS, HostModel, as_in_model
from mote.compiler.compiled import Compiled
from mote.compiler.line import compile_graph
from mote.compiler.passes.training.labelled import label_values, labelled, loss_of, no_label_values
from mote.compiler.passes.training.spec import Spec
from mote.compiler.settings import Settings
from mote.compiler.training.with_training import samples
from mote.frontends.data.dataset_type import Dataset
from mote.hardware.targets import NATIVE, Target
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import StateRole

Case = Mapping[int, Array]
"""Inputs of an inference by tensor id."""


class TrainingRun(Protocol):
    """A running training program, which keeps learned parameters between calls."""

    def infer(self, cases: Sequence[Case], done: Done = nobody) -> list[Array]:
        """Runs inferences in order; returns all outputs in the model's layout."""
        ...

    def states(self) -> dict[int, Array]:
        """States before the next inference, by tensor id."""
        ...


@dataclass
class NumpyRun:
    """Runs a training graph in the NumPy reference."""

    graph: Graph
    known: dict[int, Array] = field(default_factory=dict)

    def infer(self, cases: Sequence[Case], done: Done = nobody) -> list[Array]:
        rows = []
        for number, case in enumerate(cases, 1):
            values = self.graph.evaluate({**self.known, **case})
            self.known = self.graph.carried(values)
            rows.append([values[t] for t in self.graph.outputs])
            done(number, len(cases))
        tensors = [self.graph.tensors[t] for t in self.graph.outputs]
        return [as_in_model(t, np.stack(row)) for t, row in zip(tensors, zip(*rows, strict=True), strict=True)]

    def states(self) -> dict[int, Array]:
        return {s.before: s.initial for s in self.graph.states} | self.known


@dataclass(frozen=True, eq=False)
class TrainingProgram:
    """A training graph compiled for the host with labels as inputs. The same program scores before and after training,
    with the label value that means "do not learn"."""

    source: Graph
    """The model graph as read."""
    train: Spec
    """Parsed `train` option."""
    graph: Graph
    """The model graph with a training step appended."""
    compiled: Compiled

    @staticmethod
    def of(model: Compiled, target: Target | None = None) -> TrainingProgram:
        """The training program of a compiled model; for the host CPU unless a target is given."""
        settings = model.settings
        assert settings.train is not None
        graph = model.prepared.learning
        own = next((s for s in graph.states if s.role is StateRole.NONE), None)
        if own is not None:
            raise MoteError(
                f"'{graph.tensors[own.before].name}' lasts from one inference to the next, so that samples cannot be"
                " learned one by one",
                where="option train",
                remedy="train a model over whole windows, before it is compiled for a stream",
            )
        same = {name: getattr(settings, name) for name in SAME_RESULTS if not name.startswith("train")}
        chosen = Settings(target or targets.load(NATIVE), optimize="speed", **same)
        return TrainingProgram(model.source, settings.train, graph, compile_graph(labelled(graph), chosen))

    @property
    def program(self) -> Graph:
        """Optimized graph: label inputs follow the model's inputs, and the loss is the last output."""
        return self.compiled.plan.graph

    @cached_property
    def asked(self) -> Graph:
        """Optimized graph with the model's own inputs and outputs only."""
        program = self.program
        counts = len(self.graph.inputs), len(self.graph.outputs)
        return replace(program, inputs=program.inputs[: counts[0]], outputs=program.outputs[: counts[1]])

    @cached_property
    def idle(self) -> Case:
        """Label inputs that mean "do not learn"."""
        return no_label_values(self.graph)

    def on_host(self) -> TrainingRun:
        """Starts a run of the generated C."""
        return HostModel(self.compiled).started()

    def in_numpy(self) -> TrainingRun:
        """Starts a run of the NumPy reference."""
        return NumpyRun(self.program)

    def cases(self, data: Dataset) -> list[dict[int, Array]]:
        """Inferences that learn these samples."""
        given = samples(self.source, self.train, data).labels
        self._check(data, given)
        return [
            {**case, **label_values(self.graph, right)}
            for case, right in zip(data.cases(self.asked), given, strict=True)
        ]

    def losses(self, outputs: Sequence[Array]) -> Array:
        """Losses of inferences from their outputs; empty if the learner has no loss."""
        if loss_of(self.graph) is None:
            return np.zeros(0, np.float32)
        losses: Array = real(self.program.tensors[self.program.outputs[-1]], outputs[-1]).reshape(-1)
        return losses

    def learned(self, run: TrainingRun) -> dict[int, Array]:
        """Learned parameters by tensor id."""
        ids = {s.before for s in self.graph.states if s.role is StateRole.LEARNED}
        return {i: values for i, values in run.states().items() if i in ids}

    @property
    def classes(self) -> int:
        """Number of output scores."""
        return self.asked.tensors[self.asked.outputs[0]].shape[-1]

    @property
    def has_classes(self) -> bool:
        """Whether labels are classes, with an output score each."""
        return self.classes > 1 and not self.has_target

    @property
    def has_target(self) -> bool:
        """Whether training targets are output values (regression)."""
        return any(s.role is StateRole.TARGET for s in self.graph.states)

    @property
    def knows(self) -> bool:
        """Whether the output is the model's own, so that it can be scored before training."""
        return self.graph.outputs[0] == self.source.outputs[0]

    def _check(self, data: Dataset, labels: Sequence[Array]) -> None:
        """Raises an error for labels out of range."""
        largest = [int(label.max()) for label in labels] if self.has_classes else []
        wrong = next((i for i, label in enumerate(largest) if label >= self.classes), None)
        if wrong is not None:
            raise MoteError(
                f"the label of {data.name(wrong)} is {largest[wrong]}; the model tells {self.classes} classes apart, 0"
                f" to {self.classes - 1}",
                where=data.where,
                remedy="number classes from 0, in the order of the model's output; new classes need a learner that has"
                " room for them: --train prototype:classes=N",
            )
