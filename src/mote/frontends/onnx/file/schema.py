"""The ONNX schema of a node: its number of inputs, its attributes and their types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mote.base.errors import UnsupportedNodeError
from mote.base.text import did_you_mean, printable
from mote.frontends.onnx.file.container import LocalFunction, function_of
from mote.frontends.onnx.node import TYPES, FileNode

_EARLY = "LayerNormalization"
"""An operator that ONNX Runtime's optimizer writes into files of opsets before 17, which lack it."""


def schema_of(call: FileNode) -> Any:
    """The schema of an operator; None where the standard has none."""
    from onnx import defs

    if not defs.has(call.op_type, call.domain):
        return None
    try:
        return defs.get_schema(call.op_type, call.version, call.domain)
    except defs.SchemaError:
        return None


def check_call(call: FileNode) -> None:
    """Refuse a node that does not match its schema."""
    from onnx import defs

    schema = schema_of(call)
    if schema is None:
        if defs.has(call.op_type, call.domain) and call.op_type != _EARLY:
            raise UnsupportedNodeError(f"is not an operator of opset {call.version}")
        return
    counts = (("inputs", call.inputs, schema.min_input, schema.max_input),)
    for what, names, least, most in (*counts, ("outputs", call.outputs, schema.min_output, schema.max_output)):
        if not least <= len(names) <= most:
            raise UnsupportedNodeError(f"has {len(names)} {what}, the operator has {_from_to(least, most)}")
    for name, attribute in call.attributes.items():
        known = schema.attributes.get(name)
        if known is None:
            near = did_you_mean(name, schema.attributes)
            told = f"the operator has no attribute {printable(name)} in opset {call.version}"
            raise UnsupportedNodeError(f"{told}; {near.strip()}" if near else told)
        wanted = TYPES[known.type.value]
        if TYPES[attribute.type] != wanted:
            raise UnsupportedNodeError(
                f"the attribute {name} has the type {TYPES[attribute.type]}, it must be {wanted}"
            )
    for name, known in schema.attributes.items():
        if known.required and name not in call.attributes:
            raise UnsupportedNodeError(f"the attribute {name} is missing")


def definition_of(call: FileNode, types: Sequence[Any]) -> LocalFunction | None:
    """An operator's definition in terms of other operators, as a function; None where the standard has none. Some
    definitions depend on the input types, which are TypeProtos, None for omitted inputs."""
    from onnx import FunctionProto, TypeProto

    schema = schema_of(call)
    if schema is None:
        return None
    plain = [v for v in schema.function_opset_versions if v <= call.version]
    dependent = [v for v in schema.context_dependent_function_opset_versions if v <= call.version]
    if plain:
        data = schema.get_function_with_opset_version(max(plain))
    elif dependent:
        given = [(TypeProto() if type_ is None else type_).SerializeToString() for type_ in types]
        version, node = max(dependent), call.proto.SerializeToString()
        data = schema.get_context_dependent_function_with_opset_version(version, node, given)
    else:
        return None
    function = FunctionProto.FromString(data)
    defaults = {name: a.default_value for name, a in schema.attributes.items() if a.default_value.type}
    return function_of(function, defaults, frozenset(schema.attributes))


def check_types(call: FileNode, numbers: Sequence[int]) -> None:
    """Refuse input types that the operator does not take; 0 stands for an unknown type."""
    from onnx import TensorProto

    schema = schema_of(call)
    if schema is None or not schema.inputs:
        return
    names = {number: f"tensor({name.lower()})" for name, number in TensorProto.DataType.items()}
    for place, number in enumerate(numbers):
        taken = schema.inputs[min(place, len(schema.inputs) - 1)].types
        if number and names.get(number) not in taken:
            raise UnsupportedNodeError(
                f"input {place} is {names.get(number, number)}, which the operator does not take"
            )


def _from_to(least: int, most: int) -> str:
    if least == most:
        return str(least)
    return f"{least} or more" if most > 1000 else f"{least} to {most}"
