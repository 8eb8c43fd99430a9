"""`mote dump`: what is in an image."""

from __future__ import annotations

import argparse
from collections.abc import Mapping

from mote.base.text import printable, short_names
from mote.compiler.emit.image import format
from mote.compiler.emit.image.reader import ImageContents, OpInfo, PlaceInfo, PortInfo
from mote.compiler.lower.program import Form, Kind
from mote.deploy.image_dump import MEMORY_NAMES, dump, op_layers
from mote.ui.cli.common import add_json, bold, print_json, show, table
from mote.ui.cli.table import drop, fold, shorten


def add(p: argparse.ArgumentParser) -> None:
    p.add_argument("image", metavar="IMAGE", help="a .mote file")
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    dumped = dump(arguments.image)
    print_json(dumped.json()) if arguments.json else print_image(dumped.contents, dumped.image)
    return 0


def print_image(image: ImageContents, path: str) -> None:
    header, options = image.header, image.about.get("options", {})
    made = f" for {options['target']}" if isinstance(options, Mapping) and "target" in options else ""
    show(bold(f"{path}{made}"))
    show(f"  {header['bytes']:,} bytes, format {header['format']}, CRC-32 {header['crc']:08x}")
    product = f", product {header['product']}" if header["product"] else ""
    by = f", made by Mote {printable(str(image.about['mote']))}" if "mote" in image.about else ""
    show(f"  version {header['version']}{product}{by}")
    show(f"  SHA-256 of the model file: {bytes(header['source']).hex()}")
    signature = image.signature
    show(f"  signed with key {signature['key']}, not verified here" if signature else "  not signed")
    for feature, what in format.FEATURES.items():
        if feature in image.features:
            show(f"  {what}")
    arenas = " + ".join(f"{nbytes:,}" for nbytes in header["arena"] if nbytes) or "0"
    show(f"  RAM: arena {arenas} bytes, states {header['states']:,} bytes, {header['counters']} counters")
    if learned := image.learned:
        nbytes = sum(state["bytes"] for state in learned)
        show(f"  learned: {len(learned)} tensors, {nbytes:,} bytes; a record of them takes {image.record_bytes:,}")
    sections = ", ".join(f"{name} {nbytes:,}" for name, nbytes in image.sections.items() if nbytes)
    show(f"  flash: {sections}")
    for what, ports in (("input", image.inputs), ("output", image.outputs)):
        for port in ports:
            show(f"  {what} {printable(_port_line(port))}")
    show()
    print(table(["kernel", "id"], [[k.name, f"{k.id:08x}"] for k in image.kernels], 2, fit=(fold("kernel"),)))
    show()
    print(_ops_table(image))


def _port_line(port: PortInfo) -> str:
    shape = "x".join(map(str, port.shape)) or "scalar"
    real = f", scale {port.scale:g}, zero point {port.zero_point}" if port.scale else ""
    where = (
        f", handed over in rows of {port.row_bytes:,} bytes"
        if port.memory == format.NO_MEMORY
        else f", at {port.offset:,} of {_memory(port.memory)}"
    )
    labels = f", {len(port.labels)} labels" if port.labels else ""
    return f"'{port.name}': {port.dtype.value} {shape}{real}{where}{labels}"


def _memory(memory: int) -> str:
    return MEMORY_NAMES.get(memory, f"memory {memory}")


def _ops_table(image: ImageContents) -> str:
    known = list(dict.fromkeys(op.name for op in image.ops))
    short = dict(zip(known, short_names(known), strict=True))
    rows = []
    for i, (op, layer) in enumerate(zip(image.ops, op_layers(image), strict=True)):
        kind = layer.get("kind") or op.form.name.lower()
        form, number = op.form.name.lower(), str(layer.get("layer", ""))
        rows.append([f"{i}", number, short[op.name], str(kind), op.kernel or "-", form, _turns(op), _where(op.out)])
    fit = (drop("form"), drop("kernel"), shorten("layer", 12), drop("kind"), drop("output"))
    return table(["op", "#", "layer", "kind", "kernel", "form", "runs", "output"], rows, 6, fit=fit)


def _turns(op: OpInfo) -> object:
    return None if op.form in (Form.JUMP, Form.BRANCH) else op.fields["times"]


def _where(place: PlaceInfo | None) -> str:
    if place is None:
        return "-"
    at = min(place.offsets, default=0) if place.kind is Kind.TABLE else place.at
    return f"{place.rows} x {place.row_bytes} from {at:,} of {_memory(place.memory)}"
