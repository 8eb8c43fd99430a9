"""Where the time of compiling goes, how long it takes, and how much work planning is, as networks grow.

    PYTHONPATH=src:models:. python benchmarks/planning.py --stages  # `mote compile` of models: CPU seconds by stage
    PYTHONPATH=models:. python benchmarks/planning.py           # chains and models, seconds of the processor
    PYTHONPATH=models:. python benchmarks/planning.py --work    # growing networks: calls that planning takes

Seconds differ from machine to machine and from run to run; calls do not, and a test holds their growth.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from cProfile import Profile
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.helpers.forgetting import forgetting
from tests.helpers.network import Net

import mcunet_v2
import mlperf_tiny
from mcunet_v2 import Block
from mote import frontends
from mote.base.progress import silent
from mote.compiler import line
from mote.compiler.passes.pipeline import optimize
from mote.compiler.settings import make_settings
from random_net import start
from reference_quantizer import to_int8

HERE = Path(__file__).parent
RUNS = 3
TOTAL = "all"
LAYERS = (12, 24, 48, 96, 192, 500)
MODES: dict[str, dict[str, Any]] = {
    "balanced": {},
    "size": {"optimize": "size"},
    "speed": {"optimize": "speed"},
    "ram min": {"least_ram": True},
    "input rows": {"input": "rows"},
    "step": {"step": "row"},
}
TARGET = "cortex-m4"


def chain(layers: int, side: int = 16) -> bytes:
    """Depthwise and pointwise convolutions in turn."""
    r = start(f"chain{layers}", 0, 4, (side, side, 8), -1.0, 1.0)
    x = 0
    for i in range(layers):
        x = r.conv(x, 8) if i % 2 else r.depthwise(x)
    return to_int8(r.net)


def residuals(layers: int, side: int = 16) -> bytes:
    """Inverted residuals of four layers each."""
    r = start(f"residuals{layers}", 0, 4, (side, side, 8), -1.0, 1.0)
    x = 0
    for _ in range(layers // 4):
        x = mcunet_v2.inverted_residual(r, x, Block(3, 1, 24, 8))
    return to_int8(r.net)


def side_by_side(layers: int, side: int = 8) -> bytes:
    """Layers that do not depend on one another, and their sum."""
    r = start(f"side_by_side{layers}", 0, 4, (side, side, 4), -1.0, 1.0)
    first, *others = [r.conv(0, 4) for _ in range(layers // 2)]
    for x in others:
        first = r.net.add(first, x)
    return to_int8(r.net)


def detector(side: int = 192) -> bytes:
    """A one-stage detector of the shape of YOLOv8n: blocks that split, add and join channels, SiLU as two operators,
    three scales."""
    net = Net(7)

    def conv(x: int, channels: int, kernel: int = 3, stride: int = 1) -> int:
        y = net.conv(x, channels, kernel, stride=stride)
        return net.op("MUL", [y, net.op("LOGISTIC", [y], quant=(1 / 256, -128))])

    def block(x: int, channels: int, count: int, *, add: bool) -> int:
        y = conv(x, channels, 1)
        half, (n, h, w, _) = channels // 2, net.shapes[y]
        parts = [net.slice(y, (0, 0, 0, at), (n, h, w, half)) for at in (0, half)]
        for _ in range(count):
            new = conv(conv(parts[-1], half), half)
            parts.append(net.add(new, parts[-1]) if add else new)
        return conv(same(parts), channels, 1)

    def same(parts: list[int]) -> int:
        """Joined, brought to one scale first."""
        quant = net.quants[parts[0]]
        return net.concatenate(
            3, *(p if net.quants[p] == quant else net.op("QUANTIZE", [p], quant=quant) for p in parts)
        )

    def up(x: int) -> int:
        _, h, w, _ = net.shapes[x]
        return net.resize(x, 2 * h, 2 * w, "RESIZE_NEAREST_NEIGHBOR")

    def head(x: int) -> int:
        boxes, classes = (net.conv(conv(conv(x, c), c), out, 1) for c, out in ((64, 64), (80, 80)))
        return same([boxes, classes])

    x = conv(conv(net.input(1, side, side, 3), 16, stride=2), 32, stride=2)
    scales = []
    for channels, count in ((32, 1), (64, 2), (128, 2), (256, 1)):
        x = conv(x, channels, stride=2) if channels > 32 else x
        x = block(x, channels, count, add=True)
        scales.append(x)
    pooled = [conv(x, 128, 1)]
    for _ in range(3):
        window = {"filter_height": 5, "filter_width": 5, "stride_h": 1, "stride_w": 1}
        pooled.append(net.moved("MAX_POOL_2D", [pooled[-1]], padding="SAME", **window))
    deep = conv(net.concatenate(3, *pooled), 256, 1)
    middle = block(same([up(deep), scales[2]]), 128, 1, add=False)
    fine = block(same([up(middle), scales[1]]), 64, 1, add=False)
    middle = block(same([conv(fine, 64, stride=2), middle]), 128, 1, add=False)
    deep = block(same([conv(middle, 128, stride=2), deep]), 256, 1, add=False)
    return net.finish(*map(head, (fine, middle, deep)))


FAMILIES: dict[str, Callable[..., bytes]] = {"chain": chain, "residuals": residuals, "side by side": side_by_side}
MODELS: dict[str, Callable[[], bytes]] = {
    "MobileNetV2 224": lambda: mcunet_v2.build(mcunet_v2.MOBILENET_V2),
    "MCUNetV2 224": lambda: mcunet_v2.build(mcunet_v2.LARGE),
    "detector 192": detector,
}


def work(model: bytes, **options: Any) -> int:
    """How many calls of functions, of Python's own too, planning a model takes with empty caches."""
    settings = make_settings(TARGET, **options)
    graph, _ = optimize(frontends.load(model), io=settings.io, numerics=settings.numerics)
    counter = Profile()
    with forgetting():
        counter.runcall(line.plan_for, graph, "model.tflite", settings, silent)
    return sum(entry.callcount for entry in counter.getstats())


def seconds(model: bytes, **options: Any) -> float:
    """Seconds of the processor that compiling takes."""
    with forgetting():
        begin = time.process_time()
        line.compile(model, target=TARGET, **options)
        return time.process_time() - begin


def stages(model: bytes, *options: str, runs: int = RUNS) -> dict[str, float]:
    """CPU seconds of the stages of `mote compile`, and of all of it, in a new process with an empty cache of objects:
    the least of a few, since other processes slow each down."""
    with TemporaryDirectory() as folder:
        file = Path(folder, "model.tflite")
        file.write_bytes(model)
        found = [_stages(Path(folder), file, n, *options) for n in range(runs)]
    return {TOTAL: min(sum(run.values()) for run in found)} | {s: min(run[s] for run in found) for s in found[0]}


def _stages(folder: Path, file: Path, number: int, *options: str) -> dict[str, float]:
    command = [sys.executable, HERE / "compile_stages.py", file, *options, "--output", folder / f"c{number}"]
    cache = {"XDG_CACHE_HOME": str(folder / f"cache{number}")}
    done = subprocess.run(command, env=os.environ | cache, capture_output=True, text=True, check=True)
    found: dict[str, float] = json.loads(done.stderr.splitlines()[-1])
    return found


def print_stages(target: str) -> None:
    """A Markdown table of the stages of all models."""
    digits, keywords = (HERE.parent / "models" / f"{name}.tflite" for name in ("digits", "keywords"))
    least = mcunet_v2.build(mcunet_v2.MOBILENET_V2)
    made: dict[str, tuple[bytes, tuple[str, ...]]] = {
        "digits": (digits.read_bytes(), ()),
        "keywords": (keywords.read_bytes(), ()),
        **{
            f"MLPerf Tiny {name.upper()}": (mlperf_tiny.build(name), ())
            for name in mlperf_tiny.NAMES
            if name != "mcunet"
        },
        "MobileNetV2 224": (least, ()),
        "MobileNetV2 224, `--ram min`": (least, ("--ram", "min")),
    }
    for n, (name, (model, options)) in enumerate(made.items()):
        found = stages(model, "--target", target, *options)
        if n == 0:
            print(f"| CPU seconds | {' | '.join(found)} |\n|---{'|--:' * len(found)}|")
        print(f"| {name} | {' | '.join(f'{seconds:.2f}' for seconds in found.values())} |", flush=True)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--work", action="store_true", help="calls that planning takes instead of seconds")
    p.add_argument("--stages", action="store_true", help="CPU seconds of each stage of `mote compile`")
    p.add_argument("--target", default="host", help="the target of --stages")
    options = p.parse_args()
    if options.stages:
        print_stages(options.target)
        return
    made = {f"{name} {n}": family(n) for name, family in FAMILIES.items() for n in LAYERS}
    made |= {} if options.work else {name: build() for name, build in MODELS.items()}
    print(f"{'':16}", *(f"{mode:>10}" for mode in MODES))
    for name, model in made.items():
        print(f"{name:16}", end="", flush=True)
        for mode in MODES.values():
            shown = f"{work(model, **mode):11,}" if options.work else f"{seconds(model, **mode):11.2f}"
            print(shown, end="", flush=True)
        print()


if __name__ == "__main__":
    main()
