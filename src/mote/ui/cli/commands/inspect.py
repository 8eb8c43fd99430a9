"""`mote inspect`: what is in a model file, and what Mote cannot compile."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from typing import Any

from mote.frontends.inspection import inspect
from mote.ui.cli.common import add_json, bold, print_json, red, show, table
from mote.ui.cli.options.model import add_model, reading
from mote.ui.cli.table import drop, shorten

FIT = (drop("name in the file"), drop("quantization"), drop("type"), shorten("layer", 12), drop("op"))
"""Columns that a narrow terminal does without, the least important first."""


def add(p: argparse.ArgumentParser) -> None:
    add_model(p)
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    inspection = inspect(arguments.model, **reading(arguments))
    description = inspection.json()
    print_json(description) if arguments.json else print_text(description)
    return 1 if inspection.unsupported else 0


def print_text(description: dict[str, Any]) -> None:
    show(bold(description["model"]))
    for kind in ("inputs", "outputs"):
        for t in description[kind]:
            show(f"  {kind[:-1]} {t['name']}: {t['dtype']} {_shape(t)}{_quant(t)}")
    rows = [
        (
            x["index"],
            x["short"],
            x["op"],
            x["name"],
            _shape(x["outputs"][0]) if x["outputs"] else "",
            x["outputs"][0]["dtype"] if x["outputs"] else "",
            _quant(x["outputs"][0]).strip() if x["outputs"] else "",
            x["macs"],
            x["weights"],
        )
        for x in description["layers"]
    ]
    head = ("#", "layer", "op", "name in the file", "output", "type", "quantization", "MACs", "weight bytes")
    print(table(head, rows, left=7, fit=FIT))
    for x in description["layers"]:
        for line in _inside(x, f"layer {x['index']} {x['op']}"):
            show(line)
    show(f"{len(rows)} layers, {description['macs']:,} MACs, {description['weights']:,} bytes of weights")
    for warning in description["warnings"]:
        show(f"warning: {warning}")
    for x in description["unsupported"]:
        show(red(f"unsupported: layer {x['index']} {x['op']} '{x['name']}': {x['unsupported']}"))


def _inside(layer: dict[str, Any], where: str) -> Iterator[str]:
    """Print the bodies of control flow, a line for each."""
    for body in layer["bodies"]:
        kinds = ", ".join(x["op"] for x in body["layers"]) or "nothing"
        yield f"  inside of {where}, '{body['name']}': {kinds}"
        for x in body["layers"]:
            yield from _inside(x, f"{where} > {x['op']}")


def _shape(t: dict[str, Any]) -> str:
    return "x".join(map(str, t["shape"])) or "scalar"


def _quant(t: dict[str, Any]) -> str:
    q = t["quantization"]
    if q is None:
        return ""
    if len(q["scale"]) > 1:
        return f" {len(q['scale'])} scales"
    return f" {q['scale'][0]:.5g} * (q - {q['zero_point'][0]})"
