"""The tasks of MLPerf Tiny: what the serial line carries for each, and what a model for it looks like."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from mote.base.errors import MoteError
from mote.ir.graph import Graph
from mote.ir.graph.types import DType

PROFILE = "ULPMark for tinyML Firmware V0.0.1"
"""The name by which runners know firmware that speaks this protocol."""
WINDOW = 30 * 40
"""Features of the wake word: frames of 40."""
HOP = 512
"""Samples from one of its frames to the next."""
THRESHOLD = 115
"""The score of the wake word, in int8, above which the benchmark's reference detects it."""
STEPS = (
    "pre-emphasis=31/32",
    "log-mel(frame=1024,hop=512,low=0,high=8000,window=hamming)",
    *("offset=52", "scale=1/64", "clip(0,1)"),
)
"""From sound to them."""


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
    """An element on the line: int8, as the model takes it; uint8, 128 more than that; float32; int16, a sample."""
    command: int = 80
    """The most characters of a command."""
    preprocess: str = ""
    """Steps from samples of sound to the model's input, where the firmware listens."""

    @property
    def input_bytes(self) -> int:
        """Bytes of an input on the line."""
        return self.elements * np.dtype(self.element).itemsize

    def config(self, *, energy: bool = False, recording: bool = False, threshold: int = THRESHOLD) -> str:
        """The text of `config.h`."""
        return f"""\
#define MLPERF_MODEL "{self.model}"
#define MLPERF_PROFILE "{PROFILE}"
#define MLPERF_INPUT_BYTES {self.input_bytes}
#define MLPERF_FLOATS {int(self.element == "float32")}
#define MLPERF_FLIP {0x80 if self.element == "uint8" else 0:#x}
#define MLPERF_COMMAND {self.command}
#define MLPERF_AUDIO {int(bool(self.preprocess))}
#define MLPERF_RECORDING {int(recording)}
#define MLPERF_THRESHOLD {threshold}
#define MLPERF_ENERGY {int(energy)}
"""

    def check(self, graph: Graph, where: str) -> None:
        """Refuses a model that is none for this task."""
        tensors = [[graph.tensors[t] for t in ends] for ends in (graph.inputs, graph.outputs)]
        sizes = [[int(np.prod(t.shape)) for t in ends] for ends in tensors]
        inputs = WINDOW if self.preprocess else self.elements
        outputs = inputs if self.element == "float32" else self.results
        if sizes != [[inputs], [outputs]] or any(t.dtype != DType.INT8 for ends in tensors for t in ends):
            described = ["; ".join(f"{t.dtype} {list(t.shape)}" for t in ends) for ends in tensors]
            raise MoteError(
                f"takes {described[0]} and gives {described[1]}; {self.model} takes {inputs} int8 elements and"
                f" gives {outputs}",
                where=where,
                remedy="name the model's own task with --task; `mote quantize` makes int8 models from float32 ones",
            )


TASKS = {
    "ad": Task("ad01", 640, 1, "AUC 0.85", (1500, 10), "float32"),
    "ic": Task("ic01", 32 * 32 * 3, 10, "top-1 85%", (20, 5), "uint8"),
    "kws": Task("kws01", 49 * 10, 12, "top-1 90%", (70, 10)),
    "sww": Task("sww01", WINDOW, 3, "at most 8 false alarms and 8 misses", (70, 10)),
    "vww": Task("vww01", 96 * 96 * 3, 2, "top-1 80%", (20, 5), "uint8"),
}


def listening(channels: int = 1) -> Task:
    """The streaming wake word from samples of sound: an input is a hop of them."""
    sensor = "audio(16000)" if channels == 1 else f"audio(16000,{channels}),mono"
    return replace(
        TASKS["sww"], elements=HOP * channels, element="int16", command=1028, preprocess=",".join((sensor, *STEPS))
    )
