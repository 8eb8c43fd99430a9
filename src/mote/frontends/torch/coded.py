"""One quantized group of a program in isolation: int8 in, int8 out, by Mote's operators in NumPy."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from mote.frontends.build import Builder, quantized
from mote.frontends.build.builder import MODEL
from mote.frontends.torch.grids import Grid, Grids, Group
from mote.frontends.torch.node import Node
from mote.frontends.torch.program import TorchProgram
from mote.frontends.torch.quantized import bounds_of, codes_of, grouped, quantization, reals
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array
from mote.ir.graph.types import DType

OFFSET = 128
"""Difference between uint8 codes and the int8 codes that represent them."""


def codes(real: Array, grid: Grid) -> Array:
    """Quantize floats to int8 as PyTorch does."""
    steps = np.rint(real.astype(np.float32) * np.float32(grid.inverse)).astype(np.float64)
    zero = grid.zero - OFFSET * (grid.dtype == DType.UINT8)
    return np.asarray(np.clip(steps + zero, *bounds_of(grid)), np.int8)


def numbers(code: Array, grid: Grid) -> Array:
    """Dequantize int8 codes as PyTorch does."""
    zero = grid.zero - OFFSET * (grid.dtype == DType.UINT8)
    return np.asarray((code.astype(np.int64) - zero).astype(np.float32) * np.float32(grid.scale))


class Coded:
    """A group as a graph."""

    def __init__(self, program: TorchProgram, grids: Grids, group: Group) -> None:
        self.program = program
        self.grids = grids
        self.group = group

    @cached_property
    def graph(self) -> Graph:
        b = Builder("group", MODEL)
        values: dict[str, Any] = {}
        for argument in self.group.anchor.all_input_nodes:
            if argument.name in self.program.given:
                values[argument.name] = b.constant(self.program.given[argument.name].detach().numpy())
            elif argument.name not in self.grids.of:
                values[argument.name] = b.constant(reals(Node(b, self.program, argument, {})))
        for operand in dict.fromkeys(self.group.operands):
            given = b.input(operand.name, tuple(operand.meta["val"].shape), DType.INT8)
            codes = quantized.coded(b, given, quantization(self.grids.of[operand.name]))
            values[operand.name] = quantized.dequantize(b, codes)
        with b.layer(0, str(self.group.anchor.target), self.group.anchor.name):
            made = grouped(Node(b, self.program, self.group.anchor, values), self.group)
        b.output(codes_of(b, made), "codes")
        return b.finish().graph()

    def run(self, inputs: Mapping[str, Array]) -> Array:
        """The output codes of the group for the codes of its operands."""
        graph = self.graph
        values = graph.evaluate(
            {i: inputs[graph.tensors[i].name].reshape(graph.tensors[i].shape) for i in graph.inputs}
        )
        return values[graph.outputs[0]]
