"""The container of an ONNX file: its protobuf messages, its opset imports, and its nodes in order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mote.base.errors import MoteError, TooLargeError
from mote.base.extras import require
from mote.base.text import printable
from mote.frontends import limits
from mote.frontends.onnx.file.tensors import EXPORT, MOST_BYTES, DamagedError
from mote.frontends.onnx.node import ML, FileNode
from mote.frontends.onnx.qonnx.dialect import channels_first
from mote.frontends.onnx.qonnx.fused import unfused

OLDEST = 9
"""The oldest opset that is read; older ones are converted to it first."""
MOST_NODES = 8 * limits.MOST_LAYERS
"""Limit of nodes, counted at every use in loops and functions. Most of those that exporters write are shape arithmetic,
which is folded."""
_OWN = "ai.onnx"


@dataclass(frozen=True)
class LocalFunction:
    """A model-local function."""

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    defaults: Mapping[str, Any]
    """Default values of attributes."""
    attributes: frozenset[str]
    nodes: Sequence[Any]
    versions: Mapping[str, int]


@dataclass(frozen=True)
class Container:
    """A decoded file, whose content is not checked yet."""

    proto: Any
    versions: Mapping[str, int]
    """Opset versions by domain."""
    functions: Mapping[tuple[str, str], LocalFunction]
    notes: tuple[str, ...] = ()
    """Conversions that were applied to the file."""


def open_container(data: bytes) -> Container:
    """Decode a file, which must be ONNX of a supported version."""
    onnx = require("onnx", extra="onnx", what="an ONNX model")
    if len(data) > MOST_BYTES:
        raise TooLargeError(
            f"the file has {len(data):,} bytes, an ONNX file has at most {MOST_BYTES:,}",
            remedy="no microcontroller has memory for it: use a smaller model",
        )
    proto = onnx.ModelProto()
    try:
        proto.ParseFromString(data)
    except Exception:  # The package names no kind of error: this is a library's below it.
        raise DamagedError("it is not an ONNX model, or a truncated one") from None
    _check_texts(proto)
    if not proto.HasField("graph"):
        raise DamagedError("it has no graph")
    channels_first(proto)
    unfused(proto)
    versions = _versions(proto.opset_import)
    notes: tuple[str, ...] = ()
    if versions.get("", OLDEST) < OLDEST and not proto.functions:
        proto, note = _converted(proto, versions[""], onnx)
        versions, notes = _versions(proto.opset_import), (note,)
    _check_versions(versions, onnx)
    return Container(proto, versions, {_name_of(f): _function(f, onnx) for f in proto.functions}, notes)


def _converted(proto: Any, version: int, onnx: Any) -> tuple[Any, str]:
    """Convert a model to a newer opset; also returns which of its operators have changed since."""
    from onnx import version_converter

    try:
        converted = version_converter.convert_version(proto, OLDEST)
    except Exception as error:  # The converter is C++, whose errors have no class of their own.
        reason = printable(" ".join(str(error).rpartition("failed: ")[2].split()))
        raise MoteError(
            f"it uses opset {version}, which the package onnx {onnx.__version__} does not convert"
            f" to opset {OLDEST} ({reason})",
            remedy=f"{EXPORT} with opset_version=13 or newer",
        ) from None
    kinds = sorted({node.op_type for node in proto.graph.node if _changed(node.op_type, version, onnx)})
    what = f"; changed since: {', '.join(map(printable, kinds))}" if kinds else ""
    return converted, f"opset {version} was converted to opset {OLDEST}{what}"


def _changed(kind: str, version: int, onnx: Any) -> bool:
    """Whether an operator of an opset version has another definition in the oldest supported one."""
    try:
        first, second = (onnx.defs.get_schema(kind, v, "").since_version for v in (version, OLDEST))
    except onnx.defs.SchemaError:
        return True
    return bool(first != second)


def _check_texts(proto: Any) -> None:
    """Refuse names that are not UTF-8, which the package returns as bytes; tensor data is not checked."""
    waiting = [proto]
    count = 0
    while waiting:
        at = waiting.pop()
        count += 1
        if count > 100 * MOST_NODES:
            raise TooLargeError(f"more than {100 * MOST_NODES:,} records", remedy="split the model")
        if at.DESCRIPTOR.name == "TensorProto":
            texts: list[Any] = [at.name, *(text for entry in at.external_data for text in (entry.key, entry.value))]
        else:
            texts = []
            for field, value in at.ListFields():
                many = value if isinstance(value, Sequence) and not isinstance(value, str | bytes) else [value]
                texts += many if field.type == field.TYPE_STRING else []
                waiting += many if field.type == field.TYPE_MESSAGE else []
        if any(isinstance(text, bytes) for text in texts):
            raise DamagedError("it has names that are not UTF-8")


def domain_of(name: str) -> str:
    """A domain under one name: ONNX's own has two."""
    return "" if name == _OWN else name


def _versions(imports: Sequence[Any]) -> dict[str, int]:
    versions: dict[str, int] = {}
    for entry in imports:
        domain = domain_of(entry.domain)
        if versions.setdefault(domain, entry.version) != entry.version:
            raise DamagedError(f"it has two opset imports for '{printable(domain) or _OWN}'")
    return versions


def _check_versions(versions: Mapping[str, int], onnx: Any) -> None:
    """Refuse opsets that are too old, or newer than the installed package."""
    for domain, newest in (("", onnx.defs.onnx_opset_version()), (ML, onnx.defs.onnx_ml_opset_version())):
        version = versions.get(domain, newest)
        if version > newest:
            raise MoteError(
                f"it uses opset {version} of '{domain or _OWN}', the package onnx"
                f" {onnx.__version__} supports it up to {newest}",
                remedy=f"pip install --upgrade onnx, or {EXPORT} with opset_version={newest}",
            )
    if versions.get("", OLDEST) < OLDEST:
        raise MoteError(
            f"it has functions of opset {versions['']}, Mote reads them from opset {OLDEST} on",
            remedy=f"{EXPORT} with opset_version=13 or newer",
        )


def _name_of(function: Any) -> tuple[str, str]:
    return domain_of(function.domain), function.name


def _function(f: Any, onnx: Any) -> LocalFunction:
    _check_versions(_versions(f.opset_import), onnx)
    defaults = {a.name: a for a in f.attribute_proto}
    return function_of(f, defaults, frozenset({*f.attribute, *defaults}))


def function_of(f: Any, defaults: Mapping[str, Any], attributes: frozenset[str]) -> LocalFunction:
    """A function from its protobuf message, with its attribute defaults."""
    return LocalFunction(tuple(f.input), tuple(f.output), defaults, attributes, f.node, _versions(f.opset_import))


def calls_of(nodes: Sequence[Any], versions: Mapping[str, int]) -> list[FileNode]:
    """The nodes of a graph, or of a function."""
    if len(nodes) > MOST_NODES:
        raise TooLargeError(f"{len(nodes):,} nodes are more than {MOST_NODES:,}", remedy="split the model")
    return [call_of(node, versions) for node in nodes]


def call_of(node: Any, versions: Mapping[str, int]) -> FileNode:
    domain = domain_of(node.domain)
    if domain in ("", ML) and domain not in versions:
        raise DamagedError(f"it has no opset import for '{domain or _OWN}'")
    attributes: dict[str, Any] = {}
    for attribute in node.attribute:
        if attribute.name in attributes:
            raise DamagedError(f"node '{printable(node.name)}' has the attribute {printable(attribute.name)} twice")
        attributes[attribute.name] = attribute
    names = tuple(node.input), tuple(node.output)
    return FileNode(domain, node.op_type, node.name, *names, attributes, versions.get(domain, 1), node)


def named(place: int, call: FileNode) -> str:
    """The node's name in messages."""
    return f"layer {place} {printable(call.code)} '{printable(call.label)}'"
