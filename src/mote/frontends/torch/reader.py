"""A `.pt2` file as a Model: every node of its program becomes a layer."""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

from mote.base.errors import MoteError, UnsupportedNodeError, naming
from mote.frontends.build.builder import MODEL as MODEL_LAYOUT
from mote.frontends.build.builder import Builder, Value
from mote.frontends.build.quantized import uncoded
from mote.frontends.model import Model, with_numbers
from mote.frontends.remedies import RANDOM
from mote.frontends.source import Source
from mote.frontends.torch.control import CONTROL
from mote.frontends.torch.grids import MOVES, Grids
from mote.frontends.torch.node import Node, dtype_of
from mote.frontends.torch.ops import PARSERS
from mote.frontends.torch.ops.spectra import Complex, of_complex
from mote.frontends.torch.origin import with_line
from mote.frontends.torch.program import TorchProgram, loaded
from mote.frontends.torch.quantized import OWN, grouped, moved, of_bytes
from mote.ir.graph.types import DType

THROUGH = frozenset(
    f"aten.{name}"
    for name in (
        *("add.Tensor", "sub.Tensor", "mul.Tensor", "div.Tensor", "add.Scalar", "mul.Scalar", "div.Scalar"),
        *("clamp.default", "constant_pad_nd.default", "_to_copy.default", "clone.default", "relu.default"),
        *("reflection_pad1d.default", "reflection_pad2d.default", "tanh.default", "log.default", "slice.Tensor"),
    )
)
"""Operators through which an input is followed to the layer that decides whether it is an image."""
IMAGES = (
    "aten.convolution.",
    "aten.max_pool",
    "aten.avg_pool",
    "aten.adaptive_",
    "aten._adaptive_",
    "aten.upsample_",
    "aten._native_batch_norm",
    "aten.pixel_",
    "aten.grid_sampler_",
    "aten.instance_norm.",
    "aten.native_group_norm.",
)
"""Prefixes of operators with channels on axis 1."""


def read(source: Source) -> Model:
    """The model of a `.pt2` file, with its unsupported nodes marked."""
    with naming(source.where):
        program = loaded(source.data, source.where, dict(source.shapes))
        source.check_constants(program.inputs)
        try:
            return _Reading(program, Builder(source.where, source.edges, source.constants)).model()
        except UnsupportedNodeError as error:  # of an input or a state, which are no layers
            raise MoteError(str(error), remedy="export the module with other types, or without it") from None


class _Reading:
    """A model under construction."""

    def __init__(self, program: TorchProgram, builder: Builder) -> None:
        self.program = program
        self.b = builder
        self.values: dict[str, Any] = {}
        self.grids = Grids.collect(program)
        builder.warnings += program.warnings
        builder.assumed += program.assumed

    def model(self) -> Model:
        program, b = self.program, self.b
        changing = {kept.before for kept in program.states}
        for name, tensor in program.given.items():
            if name not in changing:
                self.values[name] = self._constant(name, tensor)
        after = {kept: self._state(kept.buffer, kept.before) for kept in program.states}
        images = {node for node in program.placeholders if _is_image(node)}
        for node in program.placeholders:
            if node.name in program.inputs:
                shape, dtype = program.shapes[node.name], dtype_of(program.types[node.name])
                self.values[node.name] = b.input(node.name, shape, dtype, channels_last=node in images)
        for index, node in enumerate(program.nodes):
            self._add(index, node)
        for index, (kept, tensor) in enumerate(after.items(), len(program.nodes)):
            with b.layer(index, "aten.copy_", kept.buffer):
                b.written(self.values[kept.after], tensor)
        for name, label in program.results:
            b.output(self._as_given(self.values[name], label), label)
        return with_numbers(b.finish(), infinite=True)

    def _as_given(self, value: Value | Complex, label: str) -> Value:
        """An output in the program's type: uint8 codes are int8 in Mote."""
        if isinstance(value, Complex):
            raise UnsupportedNodeError(
                f"output '{label}' has complex numbers: let the module return torch.view_as_real of it"
            )
        if value.dtype != DType.INT8:
            return value
        with self.b.layer(len(self.program.nodes), "output", label):
            return uncoded(self.b, value)

    def _constant(self, name: str, tensor: Any) -> Any:
        """A constant tensor, or several; one of an unsupported type is passed as it is, and its readers are refused."""
        if isinstance(tensor, tuple | list):
            return tuple(self._constant(name, part) for part in tensor)
        if not dtype_of(tensor.dtype).stored:
            return tensor
        return self.b.constant(tensor.detach().numpy(), name)

    def _state(self, buffer: str, before: str) -> int:
        value, after = self.b.state(buffer, self.program.given[before].detach().numpy())
        self.values[before] = value
        return after

    def _add(self, index: int, call: Any) -> None:
        """One node: its result, or a placeholder where it is unsupported."""
        part = _part(self.values[call.args[0].name], call.args[1]) if call.target is operator.getitem else None
        if part is not None:
            self.values[call.name] = self._named(call, part)
        if call.name in self.values:
            return
        code = "getitem" if call.target is operator.getitem else str(call.target)
        origin = call.meta.get("custom") or {}
        made: Value | Complex | Sequence[Value | None] | None = None
        with self.b.layer(index, code.removesuffix(".default"), origin.get("module") or call.name):
            try:
                made = self._parsed(code, call)
            except UnsupportedNodeError as error:
                raise error.named(with_line(str(error), origin)) from None
        if made is None:
            made = self._placeholder(call)
        if call.name not in self.values:
            named = self._named(call, made) if isinstance(made, Value) else made
            self.values[call.name] = named if isinstance(named, Value | Complex) else tuple(named)

    def _parsed(self, code: str, call: Any) -> Value | Complex | Sequence[Value | None]:
        if call.target is operator.getitem:
            raise UnsupportedNodeError(f"result {call.args[1]} of the operator is not supported")
        if code in CONTROL:
            several = CONTROL[code](self.b, self.program, call, self.values, self._inside)
            return several if isinstance(call.meta["val"], Sequence) else several[0]
        node = Node(self.b, self.program, call, self.values)
        if (group := self.grids.groups.get(call.name)) is not None:
            results = grouped(node, group)
            self.values |= {part.name: results for part in group.between}
            return results
        if call.name in self.grids.of and code in MOVES:
            parts = moved(node)
            return parts if isinstance(call.meta["val"], Sequence) or parts[0] is None else parts[0]
        if (spectrum := of_complex(node, PARSERS)) is not None:
            return spectrum
        if (made := of_bytes(node)) is not None:
            return made
        parser = OWN.get(code) or PARSERS.get(code)
        if parser is None and self.program.torch.Tag.nondeterministic_seeded in getattr(call.target, "tags", ()):
            raise UnsupportedNodeError("random numbers are not supported: results would not be reproducible", RANDOM)
        if parser is None:
            raise UnsupportedNodeError("Mote has no such operator yet")
        return parser(node)

    def _inside(self, program: TorchProgram) -> Model:
        """The model of a subgraph, whose inputs and outputs have PyTorch's layout."""
        return _Reading(program, Builder(self.b.where, MODEL_LAYOUT)).model()

    def _named(self, call: Any, value: Value) -> Value:
        return self.b.named(value, self.program.names.get(call.name, call.name))

    def _placeholder(self, call: Any) -> Value | tuple[Value | None, ...]:
        """The placeholder of an unsupported node, so that those after it are checked as well."""
        example = call.meta["val"]
        if isinstance(example, Sequence):
            return tuple(self._standing(call.name, x) if hasattr(x, "shape") else None for x in example)
        return self._standing(call.name, example)

    def _standing(self, name: str, sample: Any) -> Value:
        return self.b.placeholder(name, tuple(sample.shape), dtype_of(sample.dtype))


def _part(parts: Sequence[Value | None], index: int) -> Value | None:
    """One of several results; None where it is unsupported."""
    return parts[index] if index < len(parts) else None


def _is_image(placeholder: Any) -> bool:
    """Whether an input reaches, through element-wise operators, one with channels on axis 1."""
    if len(placeholder.meta["val"].shape) < 3:
        return False
    waiting, seen = [placeholder], set()
    while waiting:
        node = waiting.pop()
        for user in node.users:
            code = str(user.target)
            if code.startswith(IMAGES) and user.args and user.args[0] is node:
                return True
            if (code in THROUGH or "quantized_decomposed" in code) and user not in seen:
                seen.add(user)
                waiting.append(user)
    return False
