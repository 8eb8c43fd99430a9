"""User-defined custom operators (`mote.register`), and errors for undefined ones."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mote.base.errors import UnsupportedNodeError
from mote.frontends.remedies import DEFINE
from mote.frontends.tflite.file import flexbuffer
from mote.frontends.tflite.file.flatbuffer import MalformedError
from mote.frontends.tflite.node import Node
from mote.ir.graph.types import DType
from mote.ir.ops.control.custom import DEFINITIONS, Custom

C_NAMES = {DType.FLOAT32: "float", DType.BOOL: "uint8_t"}
"""C types whose names differ from the element types."""
COMPILED = {
    "edgetpu-custom-op": ("the Edge TPU", "edgetpu_compiler"),
    "ethos-u": ("an Ethos-U", "vela"),
    "NeutronGraph": ("an NXP Neutron", "neutron-converter"),
    "DISPATCH_OP": ("an accelerator", "LiteRT's compiler"),
}
"""Operators with code that was compiled for another processor: that processor and the compiler."""


def defined(name: str) -> bool:
    return name in DEFINITIONS


def compiled_by(name: str) -> tuple[str, str] | None:
    """The description of an operator with compiled code, and the remedy; None for others."""
    if name not in COMPILED or defined(name):
        return None
    processor, compiler = COMPILED[name]
    return f"is code for {processor}, made by {compiler}", f"give Mote the `.tflite` file that {compiler} was given"


def parse(name: str, node: Node) -> Custom:
    """A use of a user-defined operator."""
    if len(node.outputs) != 1:
        raise UnsupportedNodeError(f"has {len(node.outputs)} outputs; a user-defined operator has one")
    return Custom(**node.same(), definition=DEFINITIONS[name], options=_options(node), raw=node.custom)


def _options(node: Node) -> Mapping[str, Any]:
    """The options; those that are not a FlexBuffer map are passed as bytes."""
    try:
        return flexbuffer.read_map(node.custom)
    except MalformedError:
        return {}


def refuse(name: str, node: Node) -> Custom:
    """Refuse an undefined custom operator, with the code that would define it."""
    if (compiled := compiled_by(name)) is not None:
        raise UnsupportedNodeError(*compiled)
    function = re.sub(r"\W+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).strip("_").lower() or "own"
    given = [node.tensors[i] for i in node.inputs if i >= 0]
    names = [f"x{i}" for i in range(len(given))]
    pointers = [f"const {_c_type(t.dtype)} *{x}" for x, t in zip(names, given, strict=True)]
    made = [node.tensors[i] for i in node.outputs]
    output = f"{_c_type(made[0].dtype)} *out" if made else "void *out"
    shape = made[0].shape if made else ()
    prototype = f"void mote_{function}(const mote_{function}_t *p, {', '.join([*pointers, output])})"
    definition = f"""\
Mote has no such operator; it would be defined like this (docs/models/custom-operators.md):
      import mote
      mote.register(
          "{name}",
          header="mote_{function}.h",  # {prototype}
          shape=lambda use: {shape},
          reference=lambda use, {", ".join(names)}: ...,  # the output, in NumPy
      )"""
    raise UnsupportedNodeError(definition, DEFINE)


def _c_type(dtype: DType) -> str:
    return C_NAMES.get(dtype, f"{dtype}_t")
