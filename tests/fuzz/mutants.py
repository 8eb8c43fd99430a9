"""Mutants: models that were damaged at random, and a way to compile each. Two numbers make the same one everywhere, as
long as neither the bases nor the operators' rules of shapes change."""

from __future__ import annotations

from dataclasses import dataclass, replace
from random import Random
from typing import Any

from mote.frontends import Format, Source, tflite
from tests.fuzz.bases import base
from tests.fuzz.document import Table, decode, encode
from tests.fuzz.edits import copied, edit
from tests.helpers.support import HOST_DSP

MODES: dict[str, dict[str, Any]] = {
    "balanced": {},
    "speed": {"optimize": "speed"},
    "size": {"optimize": "size", "single_file": True},
    "least": {"least_ram": True},
    "least, twice": {"least_ram": True, "recompute": 30.0},
    "pushed": {"input": "rows"},
    "pushed row steps": {"input": "rows", "step": "row"},
    "caller arena": {"caller_arena": True, "step": "layer"},
    "stream": {"stream": 1},
    "stream, least": {"stream": 1, "least_ram": True, "instances": True},
    "red zones": {"red_zones": True, "least_ram": True},
    "not shrunk": {"shrink": False, "single_file": True},
    "int8 edges": {"io": "int8", "caller_arena": True, "instances": True},
}
TARGETS = ("host", HOST_DSP)
"""The portable kernels, and those for cores with DSP instructions, which the host can run too."""
EDITS, WEIGHTS = (0, 1, 2, 3), (1, 6, 3, 1)
"""How many edits a mutant has, and how often."""
BYTES = 0.05
"""The share of mutants with damaged bytes instead of edited fields."""


@dataclass(frozen=True)
class Mutant:
    seed: int
    number: int
    base: str
    edits: tuple[str, ...]
    mode: str
    target: str
    data: bytes
    suffix: str = ".tflite"

    @property
    def options(self) -> dict[str, Any]:
        return {"target": self.target, **MODES[self.mode]}

    def __str__(self) -> str:
        target = "DSP" if self.target == HOST_DSP else self.target
        return f"{self.seed}/{self.number} {self.base} ({', '.join(self.edits) or 'as it is'}; {self.mode}, {target})"


def mutant(seed: int, number: int) -> Mutant:
    """The mutant of that number."""
    rng = Random(f"{seed}/{number}")
    name, data = base(rng)
    if rng.random() < BYTES:
        edits, data = ("bytes",), with_noise(rng, data)
    else:
        model = decode(data)
        edits = tuple(edit(rng, model) for _ in range(rng.choices(EDITS, WEIGHTS)[0]))
        data = encode(_consistent(model) if rng.random() < 0.6 else model)
    return Mutant(seed, number, name, edits, rng.choice(list(MODES)), rng.choice(TARGETS), data)


def with_noise(rng: Random, data: bytes) -> bytes:
    """The data with some bytes that are others."""
    new = bytearray(data)
    for _ in range(rng.randint(1, 4)):
        new[rng.randrange(len(new))] = rng.randrange(256)
    return bytes(new)


def _consistent(model: Table) -> Table:
    """The model with the shapes that its operators give, where that can be said: what an edit means is then seen
    behind the reader too. Whatever fails here fails again when the mutant is tried."""
    try:
        graph = tflite.read(Source("mutant.tflite", Format.TFLITE, encode(model))).partial()
    except Exception:
        return model
    tensors = dict(graph.tensors)
    found = copied(model)
    for op in graph.ops:
        try:
            shapes = op.shapes(replace(graph, tensors=tensors))
        except Exception:
            break
        for t, shape in zip(op.outputs, shapes, strict=False):
            tensors[t] = replace(tensors[t], shape=shape)
            if t < len(found["subgraphs"][0]["tensors"]) and all(-(1 << 31) <= n < 1 << 31 for n in shape):
                found["subgraphs"][0]["tensors"][t]["shape"] = list(shape)
    return found
