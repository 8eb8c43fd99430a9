"""Models for images that have everything that a plan can have: rows, sums, rings, states, control flow."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from mote.compiler.emit.image.flatten import flattened
from mote.compiler.emit.image.kernels import ANY
from mote.compiler.emit.image.writer import Details, write
from mote.compiler.line import plan_for
from mote.compiler.lower.program import Program, program
from mote.compiler.packer import Image, pack
from mote.compiler.prepared import prepared
from mote.compiler.settings import make_settings
from mote.hardware import targets
from mote.hardware.targets import Memory, Target
from mote.ir.graph import Graph
from tests.helpers.flow import Flow
from tests.helpers.network import Net
from tests.helpers.support import HOST_DSP
from tests.ir.ops.matrix import test_batch_matmul

DIGITS = str(Path(__file__).parents[4] / "models" / "digits.tflite")


SAME = (0.05, 2)
"""The quantization of what branches give, and of the tensor outside."""


def branching() -> bytes:
    """An IF around a convolution, and a loop that runs as long as the input says."""
    f = Flow(1)
    flag, x = f.flag(1), f.input(1, 6, 4, 4)

    def plain(b: Flow, given: Sequence[int]) -> Sequence[int]:
        y = b.depthwise(given[0], kernel=3)
        return [b.add(y, y, quant=SAME)]

    def scaled(b: Flow, given: Sequence[int]) -> Sequence[int]:
        y = b.conv(given[0], b.weights(4, 3, 3, 4))
        return [b.add(y, y, quant=SAME)]

    y = f.choose(flag, [x], plain, scaled, [f.result((1, 6, 4, 4), SAME)])
    return f.finish(*y)


def counting() -> bytes:
    """A loop with a known number of turns, which is too long to be written out."""
    f = Flow(2)
    x = f.input(1, 4)
    i = f.constant(np.zeros(1), "int32")

    def condition(b: Flow, given: Sequence[int]) -> Sequence[int]:
        less = b.plain("bool", 1)
        b.writer.op("LESS", [given[0], b.constant(np.array([20]), "int32")], [less])
        return [less]

    def body(b: Flow, given: Sequence[int]) -> Sequence[int]:
        more = b.plain("int32", 1)
        b.writer.op("ADD", [given[0], b.constant(np.array([1]), "int32")], [more])
        return [more, b.add(given[1], given[1], b.quants[given[1]])]

    return f.finish(f.repeat([i, x], condition, body)[1])


def asking() -> bytes:
    """A loop that goes on as long as one of its inputs says so."""
    f = Flow(3)
    flag, x = f.flag(1), f.input(1, 4)

    def condition(b: Flow, given: Sequence[int]) -> Sequence[int]:
        return [given[0]]

    def body(b: Flow, given: Sequence[int]) -> Sequence[int]:
        no = b.plain("bool", 1)
        b.writer.op("LOGICAL_NOT", [given[0]], [no])
        return [no, b.add(given[1], given[1], b.quants[given[1]])]

    return f.finish(f.repeat([flag, x], condition, body)[1])


def strided() -> bytes:
    """A pool that never reads the last row of its input."""
    net = Net(4)
    x = net.input(1, 9, 6, 4)
    return net.finish(net.pool(net.depthwise(x, kernel=3), 2))


def uneven() -> bytes:
    """Rows that no formula describes: those of an image that is resized."""
    net = Net(5)
    x = net.input(1, 5, 4, 4)
    return net.finish(net.depthwise(net.resize(net.depthwise(x), 8, 4, "RESIZE_NEAREST_NEIGHBOR")))


def tall() -> bytes:
    """So many rows that some are computed at once."""
    net = Net(6)
    return net.finish(net.pool(net.depthwise(net.input(1, 260, 1, 2)), (13, 1)))


def product() -> bytes:
    """A constant matrix times others: its kernel is given a row of those, and all of the constant."""
    batches = (), (2, 2)
    return test_batch_matmul.model(test_batch_matmul.Config(batches=batches, sizes=(5, 9, 1), constant=0))


def two_memories() -> Target:
    """The host with a fast memory that does not hold all of a model."""
    memories = Memory("fast", "ram", 700), Memory("slow", "ram", 1 << 20), Memory("flash", "flash", 1 << 20)
    return replace(targets.load("host"), memories=memories)


@cache
def image(mode: str) -> Image:
    """A model in one of the modes of a plan."""
    model, options = MODES[mode]
    return pack(DIGITS if model is None else model(), **options)


MODES = {
    "whole": (None, {"target": "host", "optimize": "speed", "ram": "1M"}),
    "rows": (None, {"target": HOST_DSP, "ram": "min"}),
    "groups": (None, {"target": HOST_DSP}),
    "pushed": (None, {"target": "host", "input": "rows"}),
    "steps": (None, {"target": "host", "step": "row"}),
    "stream": (None, {"target": "host", "stream": 1, "causal": True, "ram": "min"}),
    "memories": (None, {"target": two_memories(), "optimize": "speed"}),
    "uneven": (uneven, {"target": "host", "ram": "min"}),
    "tall": (tall, {"target": "host", "ram": "min"}),
    "branches": (branching, {"target": "host"}),
    "turns": (counting, {"target": "host"}),
    "asks": (asking, {"target": "host"}),
    "product": (product, {"target": "host", "least_ram": True}),
    "strided": (strided, {"target": "host", "optimize": "speed", "ram": "1M"}),
}


def packed(graph: Graph, **options: object) -> tuple[Program, bytes]:
    """A graph without a file as an image for this computer that may have any kernels, with its program."""
    settings = make_settings("host", **options)
    flat = flattened(program(plan_for(prepared(graph, settings, ANY).whole, graph.name, settings, fixed=ANY)))
    return flat, write(flat, Details())
