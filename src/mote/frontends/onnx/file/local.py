"""Model-local functions: their nodes, with the attributes of a call."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

from mote.base.errors import UnsupportedNodeError
from mote.base.text import printable
from mote.frontends.onnx.file.container import LocalFunction
from mote.frontends.onnx.node import TYPES, FileNode


def written_out(function: LocalFunction, call: FileNode) -> list[Any]:
    """The nodes of a function, inlined for one call."""
    given = {**function.defaults, **{name: a for name, a in call.attributes.items() if name in function.attributes}}
    if unknown := set(call.attributes) - function.attributes:
        raise UnsupportedNodeError(f"the function has no attribute {printable(min(unknown))}")
    there = {theirs for theirs, ours in zip(function.inputs, call.inputs, strict=False) if ours}
    return [_with(node, given, set(function.inputs) - there) for node in function.nodes]


def _with(node: Any, given: Mapping[str, Any], absent: Collection[str] = ()) -> Any:
    """A node with its attribute references resolved (one without a value is omitted), and without omitted inputs of the
    call."""
    from onnx import NodeProto

    made = NodeProto()
    made.CopyFrom(node)
    del made.attribute[:], made.input[:]
    made.input.extend("" if name in absent else name for name in node.input)
    for attribute in node.attribute:
        value = _bound(attribute, given)
        if value is not None:
            made.attribute.append(value)
    return made


def _bound(attribute: Any, given: Mapping[str, Any]) -> Any:
    from onnx import AttributeProto

    new = AttributeProto()
    if not attribute.ref_attr_name:
        new.CopyFrom(attribute)
    elif attribute.ref_attr_name in given:
        new.CopyFrom(given[attribute.ref_attr_name])
        new.name = attribute.name
    else:
        return None
    if TYPES[new.type] == "GRAPH":
        nodes = [_with(node, given) for node in attribute.g.node]
        del new.g.node[:]
        new.g.node.extend(nodes)
    return new
