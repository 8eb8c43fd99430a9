"""How long compiling takes, and how much work planning is, as networks grow.

    PYTHONPATH=models python benchmarks/planning.py                 # chains and models, seconds of the processor
    PYTHONPATH=models python benchmarks/planning.py --work          # growing networks: calls that planning takes

Seconds differ from machine to machine and from run to run; calls do not, and a test holds their growth.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from cProfile import Profile
from typing import Any

import mcunet_v2
from mcunet_v2 import Block
from mote import frontends
from mote.api import compiler
from mote.passes import optimize
from mote.plan.goal import silent
from quantize import to_int8
from random_net import start

LAYERS = (12, 24, 48, 96, 192)
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


FAMILIES: dict[str, Callable[..., bytes]] = {"chain": chain, "residuals": residuals, "side by side": side_by_side}
MODELS: dict[str, Callable[[], bytes]] = {
    "MobileNetV2 224": lambda: mcunet_v2.build(mcunet_v2.MOBILENET_V2),
    "MCUNetV2 224": lambda: mcunet_v2.build(mcunet_v2.LARGE),
}


def work(model: bytes, **options: Any) -> int:
    """How many calls of functions, of Python's own too, planning a model takes."""
    settings = compiler.make_settings(TARGET, **options)
    graph, _ = optimize(frontends.parse(model, "model.tflite"), io=settings.io, numerics=settings.numerics)
    counter = Profile()
    counter.runcall(compiler.plan_for, graph, "model.tflite", settings, silent)
    return sum(entry.callcount for entry in counter.getstats())


def seconds(model: bytes, **options: Any) -> float:
    """Seconds of the processor that compiling takes."""
    compiler.forget()
    begin = time.process_time()
    compiler.compile(model, target=TARGET, **options)
    return time.process_time() - begin


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--work", action="store_true", help="calls that planning takes instead of seconds")
    options = p.parse_args()
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
