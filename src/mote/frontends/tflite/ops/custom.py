"""Custom operators that a user has defined (`mote.register`), and what to say of those that nobody has."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from mote.errors import UnsupportedNodeError
from mote.frontends.tflite.file import flexbuffer
from mote.frontends.tflite.file.flatbuffer import MalformedError
from mote.frontends.tflite.node import Node
from mote.graph.types import DType
from mote.ops.control.custom import DEFINITIONS, Custom

C_NAMES = {DType.FLOAT32: "float", DType.BOOL: "uint8_t"}
"""The types of C that are not called as the elements are."""
COMPILED = {
    "edgetpu-custom-op": ("the Edge TPU", "edgetpu_compiler"),
    "ethos-u": ("an Ethos-U", "vela"),
    "NeutronGraph": ("an NXP Neutron", "neutron-converter"),
    "DISPATCH_OP": ("an accelerator", "LiteRT's compiler"),
}
"""Operators that hold the code of another processor, which that is, and what made them."""


def defined(name: str) -> bool:
    return name in DEFINITIONS


def compiled_by(name: str) -> tuple[str, str] | None:
    """What an operator is that holds the code of another processor, and what to do about it; None for others."""
    if name not in COMPILED or defined(name):
        return None
    processor, compiler = COMPILED[name]
    return f"code for {processor}, made by {compiler}", f"give Mote the `.tflite` file that {compiler} was given"


def parse(name: str, node: Node) -> Custom:
    """A use of an operator that is defined."""
    if len(node.outputs) != 1:
        raise UnsupportedNodeError(f"has {len(node.outputs)} outputs; an operator of your own has one")
    return Custom(**node.same(), definition=DEFINITIONS[name], options=_options(node), raw=node.custom)


def _options(node: Node) -> Mapping[str, Any]:
    """Options that are no FlexBuffer map are left to the definition, as bytes."""
    try:
        return flexbuffer.read_map(node.custom)
    except MalformedError:
        return {}


def refuse(name: str, node: Node) -> Custom:
    """A custom operator that nobody has defined is refused with the code that would define it."""
    if (compiled := compiled_by(name)) is not None:
        raise UnsupportedNodeError("is {}: {}".format(*compiled))
    function = re.sub(r"\W+", "_", re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)).strip("_").lower() or "own"
    given = [node.tensors[i] for i in node.inputs if i >= 0]
    names = [f"x{i}" for i in range(len(given))]
    pointers = [f"const {_c_type(t.dtype)} *{x}" for x, t in zip(names, given, strict=True)]
    made = [node.tensors[i] for i in node.outputs]
    output = f"{_c_type(made[0].dtype)} *out" if made else "void *out"
    shape = made[0].shape if made else ()
    prototype = f"void mote_{function}(const mote_{function}_t *p, {', '.join([*pointers, output])})"
    raise UnsupportedNodeError(f"""\
Mote has no such operator; define it in a Python file that you give with --plugin (docs/models/custom-operators.md):
      import mote
      mote.register(
          "{name}",
          header="mote_{function}.h",  # {prototype}
          shape=lambda use: {shape},
          reference=lambda use, {", ".join(names)}: ...,  # the output, in NumPy
      )""")


def _c_type(dtype: DType) -> str:
    return C_NAMES.get(dtype, f"{dtype}_t")
