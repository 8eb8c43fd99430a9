"""What the bundled models cost, so that no commit makes it worse unnoticed: lock.json.

    python benchmarks/lock.py             # what has changed
    python benchmarks/lock.py --update    # write the numbers of today

Every bundled model on every core with every setting: instructions, modelled cycles, RAM and flash. The tests measure
some of them (`SOME`) and fail where a number has grown by more than 1%; that `--optimize speed` takes no more cycles
than `balanced` they read in the lock, on all cores. Counts depend on the C compiler, so the lock names its version and
holds for no other.
"""

from __future__ import annotations

import argparse
import json
from multiprocessing import Pool
from pathlib import Path
from typing import Any

from mote import compile, profile, run
from mote.hardware import targets, toolchain

HERE = Path(__file__).parent
LOCK = HERE / "lock.json"
MODELS = ("digits", "keywords")
CORES = tuple(name for name in targets.names() if (t := targets.load(name)).cpu == name and t.qemu_machine)
SETTINGS = ("speed", "balanced", "size")
CASES = [(model, core, optimize) for model in MODELS for core in CORES for optimize in SETTINGS]
TABLED = tuple(core for core in CORES if targets.load(core).costs == core)
"""The cores with a cost table of their own; the others have the kernels of one of these."""
SOME = [
    *(("digits", core, optimize) for core in TABLED for optimize in ("speed", "balanced")),
    *(("keywords", core, "balanced") for core in ("cortex-m4", "cortex-m55", "rv32imc")),
    *((model, "cortex-m4", "size") for model in MODELS),
]
"""What the tests measure: in less than a minute."""
MARGIN = 0.01
UPDATE = "python benchmarks/lock.py --update"

Case = tuple[str, str, str]
Figures = dict[str, int]


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--update", action="store_true", help="write the lock")
    update = p.parse_args().update
    before = load() if LOCK.exists() else {"compilers": {}, "figures": {}}
    after: dict[str, Any] = {"compilers": {}, "figures": {}}
    with Pool() as pool:
        for case, figures in zip(CASES, pool.imap(measure, CASES), strict=True):
            after["compilers"][case[1]] = compiler(case[1])
            after["figures"][key(case)] = figures
            for line in changes(case, before["figures"].get(key(case), {}), figures, margin=0.0):
                print(line, flush=True)
    if update:
        LOCK.write_text(text(after), encoding="utf-8")


def load() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(LOCK.read_text(encoding="utf-8"))
    return found


def text(lock: dict[str, Any]) -> str:
    """One line for each case, so that a difference can be read."""
    rows = [f"    {json.dumps(k)}: {json.dumps(v)}" for k, v in lock["figures"].items()]
    figures = ",\n".join(rows)
    return f'{{\n  "compilers": {json.dumps(lock["compilers"])},\n  "figures": {{\n{figures}\n  }}\n}}\n'


def key(case: Case) -> str:
    return " ".join(case)


def compiler(core: str) -> str:
    found = toolchain.find_compiler(targets.load(core))
    return f"{found.kind} {found.version}"


def measure(case: Case) -> Figures:
    model, core, optimize = case
    compiled = compile(HERE.parent / "models" / f"{model}.tflite", target=core, optimize=optimize)
    cost, timed = run(compiled, layers=False), profile(compiled, layers=False)
    assert timed.instructions == cost.instructions
    return {
        "instructions": timed.instructions,
        "cycles": timed.cycles,
        "ram": cost.ram.total,
        "flash": cost.flash.total,
    }


def changes(case: Case, before: Figures, after: Figures, *, margin: float) -> list[str]:
    """The figures that have changed; with a margin, those that have grown by more."""
    found = []
    for figure, new in after.items():
        old = before.get(figure)
        if old is None:
            found.append(f"{key(case)}: {figure} {new:,}, not in the lock")
        elif new != old if margin == 0 else new > old * (1 + margin):
            found.append(f"{key(case)}: {figure} {old:,} -> {new:,} ({100 * (new / old - 1):+.1f}%)")
    return found


if __name__ == "__main__":
    main()
