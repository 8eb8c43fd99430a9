"""Models that keep a state in a variable."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mote.frontends.tflite.writer import Writer
from mote.ir.graph.tensor import Array
from tests.helpers.network import FLOAT, Net, Quant


@dataclass
class Variable:
    """The only variable of a model, with what it holds at first."""

    net: Net
    initial: Array
    quant: Quant = FLOAT

    def __post_init__(self) -> None:
        once = self.net.writer.subgraph("init")
        given = once.const("value", self.initial, *self.quant)
        once.op("ASSIGN_VARIABLE", [handle(once, "s"), given], [])
        self.net.writer.op("CALL_ONCE", [], [], init_subgraph_index=1)
        self.handle = handle(self.net.writer, "s")

    def read(self, *shape: int) -> int:
        return self.net.op("READ_VARIABLE", [self.handle], shape or self.initial.shape, self.quant)

    def assign(self, value: int) -> None:
        self.net.writer.op("ASSIGN_VARIABLE", [self.handle, value], [])


def handle(w: Writer, name: str) -> int:
    """A tensor that stands for a variable."""
    t = w.tensor(name, (), "resource")
    w.op("VAR_HANDLE", [], [t], container="", shared_name=name)
    return t


def sliding(seed: int, new: int, kept: int, channels: int, readers: int = 1) -> bytes:
    """A window of what came last, as streaming layers keep it: joined, read, and cut off."""
    net = Net(seed)
    x = net.input(1, new, 1, channels)
    state = Variable(net, net.rng.integers(-128, 128, (1, kept, 1, channels)).astype(np.int8), net.quants[x])
    window = net.concatenate(1, state.read(), x)
    ends = [net.ints(*at) for at in ((0, -kept, 0, 0), (0, 0, 0, 0), (1, 1, 1, 1))]
    last = net.moved("STRIDED_SLICE", [window, *ends], state.initial.shape, begin_mask=13, end_mask=15)
    state.assign(last)
    outputs = [net.depthwise(window, kernel=(kept + new, 1), padding="VALID")]
    if readers > 1:
        outputs.append(net.fully_connected(net.flat(window), 3))
    return net.finish(*outputs)
