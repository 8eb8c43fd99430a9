"""The tasks of MLPerf Tiny: what the serial line carries for each, and what a model for it looks like."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mote.errors import MoteError
from mote.graph import Graph
from mote.graph.types import DType

PROFILE = "ULPMark for tinyML Firmware V0.0.1"
"""The name by which runners know firmware that speaks this protocol."""


@dataclass(frozen=True)
class Task:
    """A task of the benchmark."""

    model: str
    """The task's name on the serial line."""
    elements: int
    """Elements of the model's input."""
    results: int
    """Numbers of a result."""
    quality: str
    """The metric of its accuracy mode, and the least that the closed division accepts."""
    inferences: tuple[int, int]
    """Inferences that the official runner times for an input, and those before them to warm up."""
    element: str = "int8"
    """An element on the line: int8, as the model takes it; uint8, 128 more than that; float32."""
    profile: str = PROFILE
    command: int = 80
    """The most characters of a command."""

    @property
    def input_bytes(self) -> int:
        """Bytes of an input on the line."""
        return self.elements * np.dtype(self.element).itemsize

    def config(self, *, energy: bool = False) -> str:
        """The text of `config.h`."""
        return f"""\
#define MLPERF_MODEL "{self.model}"
#define MLPERF_PROFILE "{self.profile}"
#define MLPERF_INPUT_BYTES {self.input_bytes}
#define MLPERF_FLOATS {int(self.element == "float32")}
#define MLPERF_FLIP {0x80 if self.element == "uint8" else 0:#x}
#define MLPERF_COMMAND {self.command}
#define MLPERF_ENERGY {int(energy)}
"""

    def check(self, graph: Graph, where: str) -> None:
        """Refuses a model that is none for this task."""
        tensors = [[graph.tensors[t] for t in ends] for ends in (graph.inputs, graph.outputs)]
        sizes = [[int(np.prod(t.shape)) for t in ends] for ends in tensors]
        outputs = self.elements if self.element == "float32" else self.results
        if sizes != [[self.elements], [outputs]] or any(t.dtype != DType.INT8 for ends in tensors for t in ends):
            described = ["; ".join(f"{t.dtype} {list(t.shape)}" for t in ends) for ends in tensors]
            raise MoteError(
                f"takes {described[0]} and gives {described[1]}; {self.model} takes {self.elements} int8 elements and"
                f" gives {outputs}",
                where=where,
                remedy="name the model's own task with --task; `mote quantize` makes int8 models from float32 ones",
            )


TASKS = {
    "ad": Task("ad01", 640, 1, "AUC 0.85", (1500, 10), "float32"),
    "ic": Task("ic01", 32 * 32 * 3, 10, "top-1 85%", (20, 5), "uint8"),
    "kws": Task("kws01", 49 * 10, 12, "top-1 90%", (70, 10)),
    "sww": Task("sww01", 30 * 40, 3, "at most 8 false alarms and 8 misses", (70, 10)),
    "vww": Task("vww01", 96 * 96 * 3, 2, "top-1 80%", (20, 5), "uint8"),
}
