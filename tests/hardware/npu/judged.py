"""Models that Vela compiles, executed by the functional model beside LiteRT's reference kernels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mote.compiler.offload.ethos_u.vela import Configuration, VelaModel, compiled, configuration
from mote.hardware import targets
from mote.hardware.npu.functional import Trace, execute
from mote.hardware.npu.stream import CommandStream, decode

Arrays = list[NDArray[Any]]
ROUNDED = 16
"""Vela copies whole multiples of this."""
SYSTEMS = {
    "ethos-u55": ("Ethos_U55_High_End_Embedded", "Shared_Sram"),
    "ethos-u65": ("Ethos_U65_Embedded", "Shared_Sram"),
    "ethos-u85": ("Ethos_U85_SYS_Flash_High", "Shared_Sram"),
}


@cache
def vela(core: str) -> Configuration:
    """Vela's configuration of an accelerator, on a system that has one of its family."""
    pytest.importorskip("ethosu.regor", reason="ethos-u-vela is not installed")
    target = targets.load("corstone-300")
    assert target.npu is not None
    system, mode = SYSTEMS[core.rpartition("-")[0]]
    npu = replace(target.npu, core=core, system_config=system, memory_mode=mode)
    return configuration(replace(target, npu=npu))


@dataclass(frozen=True)
class Judged:
    """A model, LiteRT's interpreter of it, and Vela's stream."""

    model: VelaModel
    stream: CommandStream
    interpreter: Any

    def inputs(self, seed: int = 0) -> Arrays:
        """Random values of the whole range."""
        rng = np.random.default_rng(seed)
        given = []
        for detail in self.interpreter.get_input_details():
            limits = np.iinfo(detail["dtype"])
            given.append(rng.integers(limits.min, limits.max + 1, detail["shape"], detail["dtype"]))
        return given

    def litert(self, inputs: Sequence[NDArray[Any]]) -> Arrays:
        for detail, value in zip(self.interpreter.get_input_details(), inputs, strict=True):
            self.interpreter.set_tensor(detail["index"], value)
        self.interpreter.invoke()
        return [self.interpreter.get_tensor(detail["index"]) for detail in self.interpreter.get_output_details()]

    def npu(self, inputs: Sequence[NDArray[Any]], trace: Trace | None = None) -> Arrays:
        """The outputs of the stream."""
        model = self.model
        tensors = (*model.inputs, *model.outputs)
        sizes = {0: len(model.constants), 1: model.scratch, 2: model.fast}
        for t in tensors:
            sizes[t.base] = max(sizes.get(t.base, 0), -(-(t.offset + t.size) // ROUNDED) * ROUNDED)
        rng = np.random.default_rng(1)
        memory = [rng.integers(0, 256, sizes.get(base, 0), np.uint8) for base in range(max(sizes) + 1)]
        memory[0][:] = np.frombuffer(model.constants, np.uint8)
        memory[0].flags.writeable = False
        for t, value in zip(model.inputs, inputs, strict=True):
            data = np.ascontiguousarray(value).reshape(-1).view(np.uint8)
            memory[t.base][t.offset : t.offset + data.size] = data
        execute(self.stream, memory, trace)
        return [
            memory[t.base][t.offset : t.offset + t.size]
            .view(detail["dtype"])[: int(np.prod(detail["shape"]))]
            .reshape(detail["shape"])
            for t, detail in zip(model.outputs, self.interpreter.get_output_details(), strict=True)
        ]

    def differing(self, count: int = 1, seed: int = 0) -> tuple[int, int]:
        """How many elements of outputs differ, and by how much."""
        many = most = 0
        for case in range(count):
            inputs = self.inputs(seed + case)
            for ours, want in zip(self.npu(inputs), self.litert(inputs), strict=True):
                apart = np.abs(ours.astype(np.int64) - want.astype(np.int64))
                many, most = many + int((apart > 0).sum()), max(most, int(apart.max(initial=0)))
        return many, most


def judged(data: bytes, core: str = "ethos-u55-128") -> Judged:
    """A model for an accelerator; NotAcceptedError where Vela does not place all of it there."""
    from ai_edge_litert.interpreter import Interpreter, OpResolverType

    model = compiled(data, vela(core))
    interpreter = Interpreter(model_content=data, experimental_op_resolver_type=OpResolverType.BUILTIN_REF)
    interpreter.allocate_tensors()
    return Judged(model, decode(model.payload), interpreter)
