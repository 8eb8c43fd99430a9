"""`mote inspect`: what is in a model file, and what Mote cannot compile."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from typing import Any

from mote import frontends
from mote.cli.common import add_json, add_model, bold, print_json, reading, red, shortened, table
from mote.compiler import options
from mote.frontends.model import Model, SourceLayer
from mote.graph import Graph, Op, Tensor
from mote.graph.io_order import model_shape


def add(p: argparse.ArgumentParser) -> None:
    add_model(p)
    add_json(p)


def run(arguments: argparse.Namespace) -> int:
    description = describe(arguments.model, options.reading(**reading(arguments)))
    print_json(description) if arguments.json else print_text(description)
    return 1 if description["unsupported"] else 0


def describe(path: str, how: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The model as JSON; `how` are options of `source_of`."""
    source = frontends.source_of(path, **(how or {}))
    model = frontends.read(source)
    graph = model.partial()
    layers = [_layer(model, graph, layer) for layer in model.layers]
    return {
        "model": path,
        "format": source.format,
        "inputs": [_edge(model.tensors[t]) for t in model.inputs],
        "outputs": [_edge(model.tensors[t]) for t in model.outputs],
        "layers": layers,
        "macs": sum(x["macs"] or 0 for x in layers),
        "weights": sum(t.nbytes for t in _constants(model))
        + sum(_inner_weights(op) for layer in model.layers for op in layer.ops),
        "warnings": list(model.warnings),
        "unsupported": [x for x in layers if x["unsupported"]],
    }


def _constants(model: Model) -> list[Tensor]:
    used = {i for layer in model.layers for i in layer.inputs if i >= 0}
    return [model.tensors[i] for i in sorted(used) if model.tensors[i].data is not None]


def _layer(model: Model, graph: Graph, layer: SourceLayer) -> dict[str, Any]:
    reads = [model.tensors[i] for i in layer.inputs if i >= 0]
    return {
        "index": layer.index,
        "op": layer.code,
        "name": layer.name,
        "inputs": [_tensor(t) for t in reads if t.data is None],
        "outputs": [_tensor(model.tensors[i]) for i in layer.outputs],
        "macs": sum(op.macs(graph) for op in layer.ops) if layer.problem is None else None,
        "weights": sum(t.nbytes for t in reads if t.data is not None) + sum(map(_inner_weights, layer.ops)),
        "bodies": [_body(body) for op in layer.ops for body in op.bodies],
        "unsupported": layer.problem,
    }


def _body(graph: Graph) -> dict[str, Any]:
    """The layers of the bodies of control flow."""
    layers = [
        {"op": op.kind, "name": op.name, "macs": op.macs(graph), "bodies": [_body(body) for body in op.bodies]}
        for op in graph.ops
    ]
    return {"name": graph.name, "layers": layers}


def _inner_weights(op: Op) -> int:
    """Bytes of the constants inside of control flow."""
    inside = [t.nbytes for body in op.bodies for t in body.tensors.values() if t.data is not None]
    return sum(inside) + sum(_inner_weights(inner) for body in op.bodies for inner in body.ops)


def _edge(t: Tensor) -> dict[str, Any]:
    """An input or output, with the shape that it has in the model."""
    return _tensor(t) | {"shape": list(model_shape(t))}


def _tensor(t: Tensor) -> dict[str, Any]:
    quant = None
    if t.quant is not None:
        quant = {
            "scale": [float(x) for x in t.quant.scale],
            "zero_point": [int(x) for x in t.quant.zero_point],
        }
    return {"name": t.name, "shape": list(t.shape), "dtype": t.dtype, "quantization": quant}


def print_text(description: dict[str, Any]) -> None:
    print(bold(description["model"]))
    for kind in ("inputs", "outputs"):
        for t in description[kind]:
            print(f"  {kind[:-1]} {t['name']}: {t['dtype']} {_shape(t)}{_quant(t)}")
    names = shortened([x["name"] for x in description["layers"]])
    rows = [
        (
            x["index"],
            x["op"],
            name,
            _shape(x["outputs"][0]) if x["outputs"] else "",
            x["outputs"][0]["dtype"] if x["outputs"] else "",
            _quant(x["outputs"][0]).strip() if x["outputs"] else "",
            x["macs"],
            x["weights"],
        )
        for x, name in zip(description["layers"], names, strict=True)
    ]
    print(table(("#", "op", "name", "output", "type", "quantization", "MACs", "weight bytes"), rows, left=6))
    for x in description["layers"]:
        for line in _inside(x, f"layer {x['index']} {x['op']}"):
            print(line)
    print(f"{len(rows)} layers, {description['macs']:,} MACs, {description['weights']:,} bytes of weights")
    for warning in description["warnings"]:
        print(f"warning: {warning}")
    for x in description["unsupported"]:
        print(red(f"unsupported: layer {x['index']} {x['op']} '{x['name']}': {x['unsupported']}"))


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
