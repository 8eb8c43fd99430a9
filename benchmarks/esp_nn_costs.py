"""Fits the cycles of ESP-NN's generic edition, src/mote/compiler/offload/esp_nn/costs.json, to the cycle model of an
ESP32-C3.

    ESP_NN_PATH=... PYTHONPATH=src:models:. python benchmarks/esp_nn_costs.py            # how well layers are described
    ESP_NN_PATH=... PYTHONPATH=src:models:. python benchmarks/esp_nn_costs.py --update   # the same, and write the table

Layers of some shapes are computed on the emulated core, each by its function; the waits for flash are taken off, as
the cost tables of Mote's own kernels have none. The other editions' numbers in the table follow from the ticks in
ESP-NN's README. It takes about three minutes.
"""

from __future__ import annotations

import argparse
import json
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
from tests.helpers.network import Net

import mote
from mote.compiler.kernels.contract import Refusal
from mote.compiler.offload import esp_nn
from mote.compiler.offload.contract import Artifact
from mote.compiler.offload.esp_nn import EspNN, operators
from mote.compiler.offload.esp_nn.layer import EspLayer, EspWork
from mote.compiler.offload.esp_nn.library import Edition
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op

TABLE = Path(esp_nn.__file__).parent / "costs.json"
TARGET = "esp32c3"


class Always(EspNN):
    """Every function that there is, whatever it costs."""

    def build(self, region: Op, graph: Graph, target: Target) -> Artifact | Refusal:
        made = super().build(region, graph, target)
        return made if isinstance(made, Refusal) else replace(made, cost=0.0, code=0, linked={"everything": 0})


def weighted() -> bytes:
    net = Net(1)
    images = [net.input(1, size, size, channels) for size, channels in ((6, 3), (4, 16), (5, 8), (3, 32), (12, 12))]
    outputs = []
    for x in images:
        outputs += [net.conv(x, channels, kernel) for channels in (4, 10) for kernel in (1, 3)]
        outputs += [net.conv(x, 3, 2, padding="VALID"), net.depthwise(x, 1, 3), net.depthwise(x, 1, 2, stride=2)]
        outputs += [net.depthwise(x, multiplier, 3, stride=2) for multiplier in (2, 4)]
    return net.finish(*outputs)


def others() -> bytes:
    net = Net(2)
    outputs = []
    for size, channels in ((6, 3), (4, 16), (8, 5), (9, 12)):
        x = net.input(1, size, size, channels)
        outputs += [net.pool(x, window, kind) for window in (2, 3) for kind in ("AVERAGE_POOL_2D", "MAX_POOL_2D")]
        other = net.input(1, size, size, channels)
        outputs += [net.add(x, other), net.op("MUL", [x, other]), net.op("HARD_SWISH", [x]), net.mean(x)]
        outputs += [net.op(kind, [x], quant=(1 / 256, -128)) for kind in ("LOGISTIC", "SOFTMAX")]
        flat = net.flat(x)
        outputs += [net.fully_connected(flat, units) for units in (3, 12)]
        even = net.input(1, size * size * channels, quant=(0.05, 0))
        outputs += [net.fully_connected(even, units) for units in (3, 12)]
    return net.finish(*outputs)


def measured(model: bytes) -> Iterator[tuple[EspWork, float]]:
    """What each layer does, and its cycles without waits."""
    compiled = mote.compile(model, target=TARGET, backend=EspNN.name, optimize="speed")
    graph = compiled.plan.graph
    by_name = {op.name: op for op in graph.ops}
    for layer in mote.profile(compiled).layers:
        op = by_name.get(layer.name)
        made = operators.layer(op, graph, Edition.GENERIC) if op else None
        if isinstance(made, EspLayer) and layer.kernel == EspNN.name:
            yield made.work, layer.cycles - layer.waits.code - layer.waits.constants


def fitted(rows: list[tuple[EspWork, float]]) -> tuple[list[float], float]:
    """The rates with the least relative error, none below zero, and the mean of that error."""
    matrix = np.array([[w.taps, w.pixels, w.outputs, 1.0] for w, _ in rows])
    wanted = np.array([cycles for _, cycles in rows])
    scaled, used = matrix / wanted[:, None], [i for i in range(4) if matrix[:, i].any()]
    while True:
        rates, *_ = np.linalg.lstsq(scaled[:, used], np.ones(len(rows)), rcond=None)
        if (rates >= 0).all():
            break
        used.pop(int(np.argmin(rates)))
    every = np.zeros(4)
    every[used] = rates
    return [round(float(rate), 2) for rate in every], float(np.abs(scaled @ every - 1).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--update", action="store_true")
    mote.register_generator(Always())
    rows: dict[str, list[tuple[EspWork, float]]] = defaultdict(list)
    for model in (weighted(), others()):
        for work, cycles in measured(model):
            rows[work.kind].append((work, cycles))
    table = json.loads(TABLE.read_text(encoding="utf-8"))
    for kind, layers in rows.items():
        rates, error = fitted(layers)
        table[Edition.GENERIC][kind] = rates
        print(f"{kind:28}{rates}  {error:.1%} of {len(layers)} layers")
    if parser.parse_args().update:
        lines = (
            f'  "{edition}": {{\n' + ",\n".join(f'    "{kind}": {json.dumps(r)}' for kind, r in rates.items()) + "\n  }"
            for edition, rates in table.items()
        )
        TABLE.write_text("{\n" + ",\n".join(lines) + "\n}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
