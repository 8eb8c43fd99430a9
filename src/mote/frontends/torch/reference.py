"""What PyTorch computes for a file: every value that has a name, node by node."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy as np

from mote.errors import MoteError
from mote.frontends.extras import installed
from mote.frontends.source import Source
from mote.frontends.torch.program import Program, loaded
from mote.graph.tensor import Array


def reference(
    source: Source, names: Collection[str] = ()
) -> tuple[str, Callable[[Mapping[str, Array]], Mapping[str, Array]]] | None:
    """What to call the reference, and what computes all values by name from those of the inputs; states go on from one
    run to the next. None: PyTorch is not installed."""
    if not installed("torch"):
        return None
    program = loaded(source.data, source.where, dict(source.shapes))
    state = {kept.before: program.given[kept.before].clone() for kept in program.states}

    def run(inputs: Mapping[str, Array]) -> Mapping[str, Array]:
        torch = program.torch
        values = {**program.given, **state}
        for name in program.inputs:
            values[name] = torch.from_numpy(np.array(inputs[name], order="C")).to(program.types[name])
        with torch.no_grad():
            _compute(program, values)
        state.update({kept.before: values[kept.after].clone() for kept in program.states})
        return {
            program.names.get(name, name): x.detach().numpy()
            for name, x in values.items()
            if isinstance(x, torch.Tensor)
        }

    return f"PyTorch {program.torch.__version__}", run


def _compute(program: Program, values: dict[str, Any]) -> None:
    """Add the value of every node."""
    map_arg = program.torch.fx.node.map_arg
    for node in program.nodes:
        args, kwargs = map_arg((node.args, node.kwargs), lambda n: values[n.name])
        try:
            values[node.name] = _called(program.torch, node, args, kwargs)
        except (RuntimeError, IndexError, ValueError) as error:
            raise MoteError(
                f"PyTorch does not run '{node.name}', so that there is nothing to compare with: "
                f"{' '.join(str(error).split())}",
                remedy="give inputs that the module takes",
            ) from None


def _called(torch: Any, node: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """What a node makes. Which of equal elements come first PyTorch leaves open where it sorts: here, as in Mote, it is
    the first of them."""
    code = str(node.target)
    if code not in ("aten.topk.default", "aten.sort.default"):
        return node.target(*args, **kwargs)
    names = [argument.name for argument in node.target._schema.arguments]
    given = {"dim": -1, **dict(zip(names, args, strict=False)), **kwargs}
    falling = given.get("descending", given.get("largest", code.startswith("aten.topk")))
    found = torch.sort(given["self"], dim=given["dim"], descending=bool(falling), stable=True)
    return [part.narrow(given["dim"], 0, given.get("k", part.shape[given["dim"]])) for part in found]
