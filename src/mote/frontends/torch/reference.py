"""PyTorch as the reference of a file: every named value, node by node."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from mote.base.errors import MoteError
from mote.base.extras import installed
from mote.frontends.source import FixedInput, Source
from mote.frontends.torch.coded import Coded, codes, numbers
from mote.frontends.torch.grids import Grids, Group
from mote.frontends.torch.node import dtype_of
from mote.frontends.torch.program import TorchProgram, loaded
from mote.ir.graph.tensor import Array


def reference(source: Source, names: Collection[str] = ()) -> tuple[str, Reference] | None:
    """The name of the reference, and a function that computes all values by name from the inputs; states persist
    between runs. None: PyTorch is not installed."""
    if not installed("torch"):
        return None
    runner = Reference(loaded(source.data, source.where, dict(source.shapes)), source.constants)
    how = ", with groups of quantized layers in integers" if runner.groups else ""
    return f"PyTorch {runner.program.torch.__version__}{how}", runner


class Reference:
    """A program that PyTorch runs node by node. Groups of nodes between codes are computed by Mote's integer operators
    in NumPy, since PyTorch computes them in float with machine-dependent rounding: its code may differ for some
    elements, and must be an adjacent one there."""

    def __init__(self, program: TorchProgram, constants: Sequence[FixedInput] = ()) -> None:
        self.program = program
        self.fixed = {x.name: x.array(program.shapes[x.name], dtype_of(program.types[x.name])) for x in constants}
        self.grids = Grids.collect(program)
        self.groups = self.grids.groups
        self.models = {name: Coded(program, self.grids, group) for name, group in self.groups.items()}
        self.state = {kept.before: program.given[kept.before].clone() for kept in program.states}
        self.compared: Counter[str] = Counter()
        """Elements that each group has computed, in all runs."""
        self.differing: Counter[str] = Counter()
        """Elements for which PyTorch computes the adjacent code."""

    def __call__(self, inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        program, torch = self.program, self.program.torch
        values = {**program.parts, **program.given, **self.state}
        for name in program.inputs:
            values[name] = torch.from_numpy(np.array({**inputs, **self.fixed}[name], order="C")).to(program.types[name])
        with torch.no_grad():
            for node in program.nodes:
                self._compute(node, values)
        self.state.update({kept.before: values[kept.after].clone() for kept in program.states})
        return {
            program.names.get(name, name): x.detach().numpy()
            for name, x in values.items()
            if isinstance(x, torch.Tensor)
        }

    def _compute(self, node: Any, values: dict[str, Any]) -> None:
        """Add the value of a node, or of a group that begins with it."""
        if node.name in values:
            return
        torch = self.program.torch
        args, kwargs = torch.fx.node.map_arg((node.args, node.kwargs), lambda n: values[n.name])
        try:
            values[node.name] = _called(torch, node, args, kwargs)
        except (RuntimeError, IndexError, ValueError) as error:
            raise MoteError(
                f"PyTorch does not run '{node.name}', so that there is nothing to compare with: "
                f"{' '.join(str(error).split())}",
                remedy="give inputs that the module takes",
            ) from None
        if node.name in self.groups:
            self._code(self.groups[node.name], values)

    def _code(self, group: Group, values: dict[str, Any]) -> None:
        """Replace PyTorch's float result of a group by the dequantized result on codes."""
        torch = self.program.torch
        for part in group.between[1:]:
            args, kwargs = torch.fx.node.map_arg((part.args, part.kwargs), lambda n: values[n.name])
            values[part.name] = part.target(*args, **kwargs)
        real = values[group.between[-1].name].numpy()
        own = codes(real, group.grid)
        given = {x.name: codes(values[x.name].numpy(), self.grids.of[x.name]) for x in group.operands}
        computed = self.models[group.anchor.name].run(given)
        apart = np.abs(own.astype(np.int64) - computed.reshape(own.shape))
        if apart.max(initial=0) > 1:
            raise MoteError(
                f"'{group.anchor.name}' is {apart.max()} steps from what PyTorch computes",
                remedy="please report this as a bug",
            )
        self.compared[group.anchor.name] += apart.size
        self.differing[group.anchor.name] += int(np.count_nonzero(apart))
        reals = torch.from_numpy(np.ascontiguousarray(numbers(computed.reshape(own.shape), group.grid)))
        values |= {part.name: reals for part in group.between}


def _called(torch: Any, node: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """The result of a node. The order of equal elements is unspecified in PyTorch's sort: here, as in Mote, it is
    stable."""
    code = str(node.target)
    if code not in ("aten.topk.default", "aten.sort.default"):
        return node.target(*args, **kwargs)
    names = [argument.name for argument in node.target._schema.arguments]
    given = {"dim": -1, **dict(zip(names, args, strict=False)), **kwargs}
    falling = given.get("descending", given.get("largest", code.startswith("aten.topk")))
    ordered = torch.sort(given["self"], dim=given["dim"], descending=bool(falling), stable=True)
    return [part.narrow(given["dim"], 0, given.get("k", part.shape[given["dim"]])) for part in ordered]
