"""`mote.dump`: parses the contents of an image."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mote.base.errors import explaining, naming
from mote.base.notebook import sizes, table
from mote.base.results import Result, as_json
from mote.compiler.emit.image import format
from mote.compiler.emit.image.reader import ImageContents, OpInfo, PlaceInfo, PortInfo, read, read_image
from mote.compiler.lower.program import IMAGE, STATES, Kind

MEMORY_NAMES = {STATES: "states", IMAGE: "image", format.NO_MEMORY: "-"}


@dataclass(frozen=True)
class ImageDump(Result):
    """Parsed contents of an image of `mote.pack`."""

    TITLE = "{image}"

    image: str
    """Image file."""
    contents: ImageContents
    """Header, kernels, inputs, outputs, steps and metadata."""

    def __repr__(self) -> str:
        header = self.contents.header
        signed = "signed" if self.contents.signature else "not signed"
        return (
            f"<ImageDump of {self.image!r}: {header['bytes']:,} bytes, version {header['version']}, {signed},"
            f" {len(self.contents.kernels)} kernels, {len(self.contents.schedule):,} steps>"
        )

    def _facts(self) -> dict[str, object]:
        header = self.contents.header
        image, arena = sizes(header["bytes"]), sizes(sum(header["arena"]))
        signed = self.contents.signature is not None
        return {"image": image, "arena": arena, "version": header["version"], "signed": signed}

    def _parts(self) -> list[str]:
        rows = [
            (i, layer.get("kind") or op.form.name.lower(), op.name, op.kernel, op.fields["times"])
            for i, (op, layer) in enumerate(zip(self.contents.ops, op_layers(self.contents), strict=True))
        ]
        return [table(("op", "kind", "layer", "kernel", "runs"), rows, left=4)]

    def json(self) -> dict[str, Any]:
        """The contents as JSON types."""
        image = self.contents
        header = image.header
        return {
            "image": self.image,
            **as_json(header, "bytes, format, crc:08x, version, product, warm_up"),
            "ram": as_json(header, "arenas=arena, states, counters"),
            **as_json(image, "mote=about.mote, learned, record=record_bytes, sections, steps=schedule!n, signature"),
            "features": [f.name for f in format.FEATURES if f in image.features],
            "source_sha256": bytes(header["source"]).hex(),
            "options": image.about.get("options", {}),
            "inputs": [_port(p) for p in image.inputs],
            "outputs": [_port(p) for p in image.outputs],
            "kernels": [{"id": f"{k.id:08x}", "name": k.name} for k in image.kernels],
            "ops": [_op(op, layer) for op, layer in zip(image.ops, op_layers(image), strict=True)],
        }


@explaining()
def dump(image: str | Path) -> ImageDump:
    """Read an image of `mote.pack`: header, memory, inputs and outputs, kernels, operators and signature. Nothing is
    executed, and the signature is not verified (see `mote.verify_image`)."""
    data = read_image(image)
    with naming(str(image)):
        return ImageDump(str(image), read(data))


def op_layers(image: ImageContents) -> list[Mapping[str, Any]]:
    """Metadata of each op; empty for ops of bodies, for jumps, and if names were omitted."""
    return [*image.layers, *[{}] * len(image.ops)][: len(image.ops)]


def _port(port: PortInfo) -> dict[str, Any]:
    values = as_json(port, "name, dtype:s, shape, scale, zero_point, memory, offset, bytes=nbytes, labels")
    return values | {"memory": MEMORY_NAMES.get(port.memory, port.memory)}


def _op(op: OpInfo, layer: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "name": op.name,
        "layer": layer.get("layer"),
        "kind": layer.get("kind"),
        "form": op.form.name.lower(),
        "kernel": op.kernel or None,
        "times": op.fields["times"],
        "operands": [_place(operand.place) for operand in op.operands],
        "output": None if op.out is None else _place(op.out),
        "scratch": op.fields["scratch_bytes"],
        "sums": op.fields["sums_bytes"],
    }


def _place(place: PlaceInfo) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "memory": MEMORY_NAMES.get(place.memory, place.memory),
        "kind": place.kind.name.lower(),
        "rows": place.rows,
        "row_bytes": place.row_bytes,
    }
    return entry | ({"offsets": list(place.offsets)} if place.kind is Kind.TABLE else {"at": place.at})
