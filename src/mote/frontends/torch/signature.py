"""The inputs and outputs of a program, with which its graph becomes an exported program of PyTorch."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mote.base.documents import parse_json
from mote.base.errors import MoteError
from mote.frontends.torch.archive import Archive, field, only, record
from mote.frontends.torch.assembly import Assembly, check_libraries, has_control, identifier
from mote.frontends.torch.symbols import Symbols
from mote.ir.graph.tensor import Shape


@dataclass(frozen=True)
class Assembled:
    """A program with static shapes, as PyTorch's exporter makes it."""

    exported: Any
    inputs: tuple[str, ...]
    labels: tuple[str, ...]
    """The keys of outputs that the module returns in a dictionary; empty names for others."""
    warnings: tuple[str, ...]
    assumed: tuple[str, ...]
    """Dynamic first axes that were taken for a batch of 1, with what to do where they are none."""


def assembled(torch: Any, archive: Archive, shapes: Mapping[str, Shape]) -> Assembled:
    """The program of a file for inputs of these shapes."""
    module = record(field(archive.program, "graph_module"), "the program")
    graph, signature = (record(field(module, key), key) for key in ("graph", "signature"))
    check_libraries(graph)
    from torch._subclasses.fake_tensor import FakeTensorMode
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    mode = FakeTensorMode(shape_env=ShapeEnv() if has_control(graph) else None, static_shapes=True)
    made = Assembly(torch, archive, dict(shapes), mode, torch.fx.Graph())
    weights, inputs, specs = _placeholders(made, graph, signature)
    results = made.run(graph)
    exported, shown = _exported(made, weights, specs, signature, results, inputs)
    return Assembled(exported, inputs, _labels(module, shown), tuple(made.warnings), tuple(made.assumed))


def _placeholders(
    made: Assembly, graph: Mapping[str, Any], signature: Mapping[str, Any]
) -> tuple[dict[str, Any], tuple[str, ...], list[Any]]:
    """Add the inputs of the graph: weights and buffers by name, and the user's inputs."""
    from torch.export.graph_signature import InputKind, InputSpec, TensorArgument

    kinds = {
        "parameter": ("parameter_name", InputKind.PARAMETER, made.archive.weights),
        "buffer": ("buffer_name", InputKind.BUFFER, made.archive.weights),
        "tensor_constant": ("tensor_constant_name", InputKind.CONSTANT_TENSOR, made.archive.constants),
    }
    limits = record(made.archive.program.get("range_constraints") or {}, "ranges")
    symbols = Symbols(limits, assumed=made.assumed)
    values = record(field(graph, "tensor_values"), "the tensors")
    weights: dict[str, Any] = {}
    inputs: list[str] = []
    specs: list[Any] = []
    for spec in field(signature, "input_specs"):
        kind, content = only(spec, "an input")
        if kind == "constant_input":
            made.known[str(field(content, "name"))] = only(field(content, "value"), "a constant")[1]
            continue
        if kind not in (*kinds, "user_input"):
            raise MoteError(f"the module has an input of the kind '{kind}'", remedy="export it with tensors only")
        argument = record(field(content, "arg"), "an input")
        tensor_argument = _given(argument) if kind == "user_input" else argument
        if tensor_argument is None:
            continue
        name = identifier(field(tensor_argument, "name"))
        node = made.graph.placeholder(name)
        made.known[name] = node
        if kind == "user_input":
            node.meta["val"] = _fake_input(made, symbols, name, record(field(values, name), name))
            inputs.append(name)
            specs.append(InputSpec(InputKind.USER_INPUT, TensorArgument(name=node.name), None))
            continue
        key, what, stored = kinds[kind]
        target = str(field(content, key))
        home = stored if target in stored else made.archive.constants
        tensor = made.tensor(field(home, target), target)
        whole = what == InputKind.PARAMETER
        weights[target] = made.torch.nn.Parameter(tensor, requires_grad=False) if whole else tensor
        node.meta.update(val=made.mode.from_tensor(weights[target]), data=weights[target].detach(), fixed=True)
        persistent = True if what == InputKind.BUFFER else None
        specs.append(InputSpec(what, TensorArgument(name=node.name), target, persistent))
    if wrong := sorted(set(made.shapes) - set(inputs)):
        raise MoteError(f"there is no input '{wrong[0]}'", remedy=f"the inputs are {', '.join(inputs) or 'none'}")
    return weights, tuple(inputs), specs


def _given(argument: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The tensor of a user input; None where the argument is a constant."""
    kind, value = only(argument, "an input")
    if kind == "as_tensor":
        return record(value, "an input")
    if kind in ("as_none", "as_int", "as_bool", "as_float", "as_string"):
        return None
    raise MoteError("an input of the module is a number, not a tensor", remedy="export it with tensors only")


def _fake_input(made: Assembly, symbols: Symbols, name: str, meta: Mapping[str, Any]) -> Any:
    shape = symbols.shape(field(meta, "sizes"), name, made.shapes.get(name))
    if not math.prod(shape):
        raise MoteError(f"input '{name}' has no elements", remedy="give it another shape")
    with made.mode:
        return made.torch.empty(shape, dtype=made.dtype(field(meta, "dtype")))


def _exported(
    made: Assembly,
    weights: Mapping[str, Any],
    specs: list[Any],
    signature: Mapping[str, Any],
    results: list[Any],
    inputs: Sequence[str],
) -> tuple[Any, int]:
    """The program as PyTorch's exporter would have made it, and its number of user outputs."""
    from torch._export.verifier import TrainingIRVerifier
    from torch.export import ExportedProgram
    from torch.export.exported_program import ModuleCallEntry, ModuleCallSignature
    from torch.export.graph_signature import (
        ConstantArgument,
        ExportGraphSignature,
        InputKind,
        OutputKind,
        OutputSpec,
        TensorArgument,
    )
    from torch.utils import _pytree as trees

    kinds = {
        "user_output": OutputKind.USER_OUTPUT,
        "buffer_mutation": OutputKind.BUFFER_MUTATION,
        "user_input_mutation": OutputKind.USER_INPUT_MUTATION,
    }
    outputs = []
    for spec, result in zip(field(signature, "output_specs"), results, strict=True):
        kind, content = only(spec, "an output")
        if kind not in kinds:
            raise MoteError(f"the module has an output of the kind '{kind}'", remedy="export it for inference")
        target = content.get("buffer_name") or content.get("user_input_name")
        node = isinstance(result, made.torch.fx.Node)
        argument = TensorArgument(name=result.name) if node else ConstantArgument(name="", value=result)
        outputs.append(OutputSpec(kinds[kind], argument, target))
    made.graph.output(tuple(results))
    shown = sum(spec.kind == OutputKind.USER_OUTPUT for spec in outputs)
    in_spec = trees.tree_structure(((0,) * len(inputs), {}))
    call = ModuleCallSignature([], [], in_spec, trees.tree_structure((0,) * shown), list(inputs))
    constants = {spec.target for spec in specs if spec.kind == InputKind.CONSTANT_TENSOR}
    program = ExportedProgram(
        root=made.root(),
        graph=made.graph,
        graph_signature=ExportGraphSignature(specs, outputs),
        state_dict={name: x for name, x in weights.items() if name not in constants},
        range_constraints={},
        module_call_graph=[ModuleCallEntry("", call)],
        constants={name: x for name, x in weights.items() if name in constants},
        verifiers=[TrainingIRVerifier],
    )
    return program, shown


def _labels(module: Mapping[str, Any], count: int) -> tuple[str, ...]:
    """The keys of the dictionaries that the module returns, for each output."""
    try:
        signature = module["module_call_graph"][0]["signature"]
        _, tree = parse_json(signature["out_spec"])
        labels = [*_leaves(tree, "")]
    except (KeyError, IndexError, TypeError, ValueError, RecursionError):
        labels = []
    return tuple(labels) if len(labels) == count else ("",) * count


def _leaves(tree: Mapping[str, Any], path: str) -> list[str]:
    if tree["type"] is None:
        return [path]
    named_ones = parse_json(tree["context"]) if tree["type"] == "builtins.dict" else []
    keys = named_ones if isinstance(named_ones, list) and named_ones else [""] * len(tree["children_spec"])
    if not named_ones and path:
        keys = [str(i) for i in range(len(keys))]
    joined = ["_".join(x for x in (path, str(key)) if x) for key in keys]
    return [leaf for key, child in zip(joined, tree["children_spec"], strict=True) for leaf in _leaves(child, key)]
