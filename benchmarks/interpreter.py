"""What it costs to interpret a model instead of compiling it: the table of docs/deploy/runtime.md.

    PYTHONPATH=models:benchmarks python benchmarks/interpreter.py --models DIR [--only KWS ...]

Every model is compiled, packed for a runtime with just the kernels that it was planned with (code of single layers
included), and packed for the stock runtime, all for a Cortex-M4. Instructions of an inference and of init are counted
in the emulator; outputs must be the same. Sizes are those of a build for size (-Os), without the image itself: the
runtime of the model with all of its kernels, of the stock runtime what links with the kernels that the image needs, and
the runtime's core alone.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from elftools.elf.elffile import ELFFile

from anchors import TFLM, Anchor, load
from mote import profile
from mote.base.files import temporary_folder
from mote.bench.evaluation.images import LoadedImage, known_kernels, load_image, profile_image, run_image
from mote.bench.measure.run import run
from mote.bench.measure.runner import bench
from mote.compiler.line import compile as compiled
from mote.compiler.packer import pack
from mote.deploy.runtime import TUNED, runtime
from mote.hardware import toolchain
from mote.hardware.toolchain import Mode

TARGET = "cortex-m4"
CORE = ("mote_check", "mote_execute", "mote_runtime")
"""The object files of the runtime itself."""
HEAD = (
    "model",
    "compiled",
    "own kernels",
    "ratio",
    "stock kernels",
    "ratio",
    "of TFLite Micro",
    "init",
    "code",
    "stock",
    "RAM",
)


@dataclass(frozen=True)
class Row:
    """A model's numbers."""

    name: str
    compiled: int
    own: int
    stock: int
    tflm: int | None
    init: int
    code: int
    stock_code: int
    ram: int

    @property
    def text(self) -> str:
        less = f"{self.own / self.tflm:.2f}x" if self.tflm else "-"
        ratios = f"{self.own / self.compiled:.3f}x", f"{self.stock / self.compiled:.3f}x"
        numbers = (self.compiled, self.own, ratios[0], self.stock, ratios[1], less, self.init)
        cells = (*numbers, self.code, self.stock_code, self.ram)
        return f"| {self.name} | " + " | ".join(c if isinstance(c, str) else f"{c:,}" for c in cells) + " |"


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", type=Path, required=True, metavar="DIR", help="the folder of the published models")
    p.add_argument("--only", nargs="+", metavar="NAME", help="only these models")
    p.add_argument("--tuned", action="store_true", help="of the set `tuned` instead: ratios, and its code")
    options = p.parse_args()
    if options.tuned:
        tuned([a for a in load() if a.name in (options.only or [a.name])], options.models)
        return
    print("| " + " | ".join(HEAD) + " |")
    print("|---" + "|---:" * (len(HEAD) - 1) + "|")
    cores = set()
    for anchor in load():
        path = options.models / anchor.file
        if path.exists() and anchor.name in (options.only or [anchor.name]):
            row, core = measured(anchor, path)
            cores.add(core)
            print(row.text, flush=True)
    print(f"\nThe runtime without kernels is {', '.join(f'{core:,}' for core in sorted(cores))} bytes of that.")


def measured(anchor: Anchor, path: Path) -> tuple[Row, int]:
    """The numbers of a model, and the bytes of the runtime's core."""
    with temporary_folder() as folder:
        runtime([path], target=TARGET).write(folder / "runtime")
        own = folder / "own.mote"
        pack(path, target=TARGET, runtime=folder / "runtime").write(own)
        pack(path, target=TARGET).write(folder / "stock.mote")
        mine = load_image(own, target=TARGET, runtime=folder / "runtime")
        stock = load_image(folder / "stock.mote", target=TARGET)
        plain = run(compiled(path, target=TARGET), layers=False)
        found = [run_image(image, layers=False) for image in (mine, stock)]
        for other in found:
            assert [o.sha256 for o in other.outputs] == [o.sha256 for o in plain.outputs], "other outputs"
        whole = replace(mine, kernels=list(known_kernels(folder / "runtime", mine.target).kernels))
        (code, core), (stock_code, _) = _sizes(whole, folder / "a"), _sizes(stock, folder / "b")
        tflm = anchor.instructions(TFLM, TARGET)
        counted = [result.instructions or 0 for result in (plain, *found)]
        ram = found[0].ram.static or 0
        return Row(anchor.name, *counted, tflm, _init(mine, folder / "c"), code, stock_code, ram), core


def tuned(anchors: Sequence[Anchor], models: Path) -> None:
    """Instructions and cycles of the tuned set for any model, beside those of compiled code, and its code."""
    print("| model | instructions | ratio | cycles | ratio | code |\n|---|---:|---:|---:|---:|---:|")
    with temporary_folder() as folder:
        runtime(TUNED, target=TARGET).write(folder / "runtime")
        for anchor in anchors:
            path, packed = models / anchor.file, folder / f"{anchor.name}.mote"
            pack(path, target=TARGET, runtime=folder / "runtime").write(packed)
            image = load_image(packed, target=TARGET, runtime=folder / "runtime")
            own = compiled(path, target=TARGET)
            plain, found = run(own, layers=False), run_image(image, layers=False)
            assert [o.sha256 for o in found.outputs] == [o.sha256 for o in plain.outputs], "other outputs"
            cycles = profile(own, layers=False).cycles, profile_image(image, layers=False).cycles
            whole = replace(image, kernels=list(known_kernels(folder / "runtime", image.target).kernels))
            code, _ = _sizes(whole, folder / anchor.name)
            counted = plain.instructions or 0, found.instructions or 0
            cells = [f"{n:,} | {n / of:.3f}x" for of, n in (counted, cycles)]
            print(f"| {anchor.name} | {' | '.join(cells)} | {code:,} |", flush=True)


def _init(image: LoadedImage, folder: Path) -> int:
    """Instructions of init: a firmware whose inference is that."""
    folder.mkdir()
    usual = image.firmware
    made = replace(usual, glue=lambda mode: usual.glue(mode).replace(f"{image.name}_run()", f"{image.name}_init()"))
    on = bench(made, folder)
    data = [bytes(port.nbytes) for port in image.image.inputs]
    counted = on.execute(Mode.MEASURE, [data]).instructions
    return counted[-1] if counted else 0


def _sizes(image: LoadedImage, folder: Path) -> tuple[int, int]:
    """Bytes of all code, and of the runtime's own, of a build for size."""
    folder.mkdir()
    on = bench(replace(image.firmware, optimize="size"), folder)
    found = toolchain.sizes(on.elf(Mode.MEASURE), image.target)
    assert found is not None
    objects = [path for path in (folder / Mode.MEASURE).glob("model_*.o") if path.stem.split("_", 2)[2] in CORE]
    return found.code, sum(map(_text, objects))


def _text(path: Path) -> int:
    """Bytes of code in an object file."""
    with path.open("rb") as file:
        return sum(int(s["sh_size"]) for s in ELFFile(file).iter_sections() if s.name.startswith(".text"))


if __name__ == "__main__":
    main()
