"""What pruning costs in accuracy and saves in instructions and flash: MLPerf Tiny's ResNet-8 on CIFAR-10.

    PYTHONPATH=src:models python benchmarks/pruning.py --models DIR --data cifar10.zip --tuned OUT --train --device cuda
    PYTHONPATH=src:models python benchmarks/pruning.py --models DIR --data cifar10.zip --tuned OUT --write

The first prunes the float model in each way, refits it, fine-tunes it and writes a .tflite file for each point into the
folder OUT: an accelerator does it in minutes. The second measures those files: accuracy of the int8 model of each,
instructions on the emulated core and flash. `--write` puts the table into docs/improve/pruning.md. `--epochs 0`
shows what refitting alone gives. cifar10.zip has pictures in train/CLASS and test/CLASS.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import torch

from compare import included
from mote import prune
from mote.bench.evaluation.score import score
from mote.bench.execute.torch.module import GraphModule
from mote.compiler.passes.normal_form import normal
from mote.compiler.settings import Settings, make_settings
from mote.frontends import load
from mote.frontends.data.dataset import Dataset, dataset
from mote.frontends.tflite.export import export
from mote.ir.graph import Graph
from mote.optimize.compress.prune.costs import PrunedCosts, costs_of, obstacle
from mote.optimize.compress.prune.pruner import split
from mote.optimize.compress.quantize.pipeline import Methods, finished, prepared
from mote.optimize.train.training import chosen, stacked
from mote.optimize.train.tuning import Tuning, tuned_teacher

PAGE = Path(__file__).parents[1] / "docs" / "improve" / "pruning.md"
MODEL = "pretrainedResnet.tflite"
SAMPLES = 512
"""That weights are refitted with, and that int8 models are calibrated with."""
EPOCHS = 100
AUGMENT = "flip,shift=4"
BATCH = 250
UNPRUNED, RETRAINED, SMALL = "unpruned", "unpruned-tuned", "unpruned, size"
HEAD = ("", "top-1, int8", "points", "MACs", "instructions", "flash")


class Case(NamedTuple):
    """What is pruned, and how much is left of multiplications or flash."""

    kind: str
    option: str
    percent: int

    @property
    def name(self) -> str:
        return f"{self.kind}-{self.percent}"


CASES = (
    Case("channels", "macs", 75),
    Case("channels", "macs", 50),
    Case("channels", "macs", 35),
    Case("blocks", "macs", 50),
    Case("clusters", "flash", 80),
)


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--models", type=Path, required=True, help="folder with the published models")
    p.add_argument("--data", type=Path, required=True, help="cifar10.zip")
    p.add_argument("--tuned", type=Path, required=True, help="folder of the pruned models")
    p.add_argument("--train", action="store_true", help="make the pruned models")
    p.add_argument("--epochs", type=int, default=EPOCHS, help=f"of fine-tuning (default: {EPOCHS})")
    p.add_argument("--device", default="auto", help="where to train (default: an accelerator where there is one)")
    p.add_argument("--only", default="", metavar="NAMES", help="points to make or to measure, with commas between")
    p.add_argument("--target", default="cortex-m4")
    p.add_argument("--write", action="store_true", help="write the table into the page")
    a = p.parse_args()
    names = a.only.split(",") if a.only else [RETRAINED, *(case.name for case in CASES)]
    if a.train:
        a.tuned.mkdir(parents=True, exist_ok=True)
        make(a.models / MODEL, f"{a.data}", a.tuned, names, a.epochs, a.device)
    else:
        lines = []
        for line in table(a.models / MODEL, f"{a.data}", a.tuned, names, a.target):
            print(line, flush=True)
            lines.append(line)
        text = "\n".join(lines)
        if a.write:
            PAGE.write_text(included(PAGE.read_text(encoding="utf-8"), {"pruning": text}), encoding="utf-8")


def make(model: Path, data: str, folder: Path, names: list[str], epochs: int, device: str) -> None:
    """Write every point, and the unpruned model, trained just as they are; say how good they are as real numbers."""
    train, test = dataset(f"{data}/train"), dataset(f"{data}/test", labelled=True)
    graph = normal(load(model))
    print(f"{UNPRUNED}: {accuracy(graph, test, device):.2%}", flush=True)
    for case in (case for case in CASES if case.name in names):
        began = time.monotonic()
        tune = 0 if case.kind == "clusters" else epochs
        limit = {case.option: f"{case.percent}%"}
        found = prune(
            model,
            train,
            kind=case.kind,
            **limit,
            fine_tune=tune,
            augment=AUGMENT if tune else "",
            samples=SAMPLES,
            device=device,
        )
        found.write(folder / f"{case.name}.tflite")
        said = f"{found.after.macs:,} MACs, {accuracy(found.graph, test, device):.2%}"
        print(f"{case.name}: {said}, in {time.monotonic() - began:.0f} s", flush=True)
    if RETRAINED in names and epochs:
        tuned = tuned_teacher(graph, train, Tuning(epochs, AUGMENT, device))
        (folder / f"{RETRAINED}.tflite").write_bytes(export(tuned, MODEL).data)
        print(f"{RETRAINED}: {accuracy(tuned, test, device):.2%}", flush=True)


def accuracy(graph: Graph, test: Dataset, device: str) -> float:
    """Of real numbers, by PyTorch."""
    module = GraphModule(graph).to(chosen(device)).eval()
    (inputs,) = stacked(graph, test)
    with torch.no_grad():
        answers = [module(part.to(chosen(device))).argmax(-1).cpu() for part in torch.split(inputs, BATCH)]
    assert test.labels is not None
    return float((torch.cat(answers).numpy() == test.labels).mean())


def table(model: Path, data: str, folder: Path, names: list[str], target: str) -> Iterator[str]:
    """A row for the model, compiled in both ways, and for every point that is there. Models with clustered weights are
    compiled for the share of flash that they were made for."""
    train, test = dataset(f"{data}/train"), dataset(f"{data}/test", labelled=True)
    yield from (f"| {' | '.join(HEAD)} |", "|---" + "|--:" * (len(HEAD) - 1) + "|")
    balanced, size = (make_settings(target, optimize=optimize) for optimize in ("balanced", "size"))
    shares = {case.name: case.percent / 100 for case in CASES if case.kind == "clusters"}
    whole, smallest = 0.0, 0
    for name in (UNPRUNED, *(name for name in names if name not in shares), SMALL, *shares):
        path = model if name in (UNPRUNED, SMALL) else folder / f"{name}.tflite"
        if path.exists():
            graph, settings = normal(load(path)), size if name in (SMALL, *shares) else balanced
            if name in shares:
                settings = replace(size, flash=int(shares[name] * smallest))
            right, costs = measured(graph, train, test, settings, equalize=name not in shares)
            whole, smallest = whole or right, costs.flash if name == SMALL else smallest
            cells = (name, f"{right:.2%}", f"{100 * (right - whole):+.2f}", macs(graph), *taken(costs))
            yield f"| {' | '.join(c if isinstance(c, str) else f'{c:,}' for c in cells)} |"


def measured(
    graph: Graph, train: Dataset, test: Dataset, settings: Settings, *, equalize: bool
) -> tuple[float, PrunedCosts]:
    """The accuracy of the int8 model, and what it takes."""
    calibration, _ = split(train.cases(graph), SAMPLES)
    integer = finished(prepared(graph, calibration, Methods(equalize=equalize))).integers.graph
    return score(integer, test).value, costs_of(integer, settings, run=not obstacle(settings.target))


def macs(graph: Graph) -> int:
    """Multiplications by weights that are not zero."""
    total = 0
    for op in graph.ops:
        weights = op.tensor(graph, 1)
        kept = 1.0 if weights is None or weights.data is None else float((weights.data != 0).mean())
        total += round(op.macs(graph) * kept)
    return total


def taken(costs: PrunedCosts) -> tuple[object, object]:
    instructions = costs.instructions if costs.instructions is not None else f"{costs.cycles:,} cycles, estimated"
    return instructions, costs.flash


if __name__ == "__main__":
    main()
