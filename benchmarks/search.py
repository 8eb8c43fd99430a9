"""Networks that `mote search` makes, beside networks made by hand: trained in the same way, on the same data.

    python benchmarks/search.py fashion --device cuda
    python benchmarks/search.py cifar keywords --data ../shared/data --record

Every task has the same splits, seed and epochs for all of its networks: those made by hand are spaces without choices,
so that the same code trains, quantizes, compiles and tests them. Fashion-MNIST is Debian's package
dataset-fashion-mnist; `--data` is the folder of the other data sets. `--record` writes what the documentation quotes.
"""

from __future__ import annotations

import argparse
import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from io import BytesIO
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
from numpy.typing import NDArray

import mote
from mote.optimize.nas.member import SearchMember
from mote.optimize.nas.searcher import search
from mote.optimize.nas.spaces.space import SearchSpace
from mote.optimize.nas.spaces.stage import SpaceHead, SpaceStage

Array = NDArray[Any]
Split = tuple[tuple[Array, Array], tuple[Array, Array]]
"""Training samples and labels, test samples and labels."""

RECORD = Path(__file__).with_suffix(".json")
FASHION = Path("/usr/share/datasets/fashion-mnist")
KEYWORDS = (0.5847029089927673, 83)
"""Scale and zero point of MLPerf Tiny's keyword features in eight bits."""
TARGET = "cortex-m4"
BY_HAND, ALIKE, SEARCHED = "by hand", "by hand, compiled alike", "searched"
"""Kinds of networks in the record."""
KINDS = {"anchors": BY_HAND, "alike": ALIKE, "search": SEARCHED}
"""These kinds by the words of the option `only`."""


def fashion(_: Path) -> Split:
    """Fashion-MNIST: 60,000 images to train, 10,000 to test."""

    def read(name: str, begin: int, shape: tuple[int, ...]) -> Array:
        return np.frombuffer(gzip.decompress((FASHION / name).read_bytes()), np.uint8, offset=begin).reshape(shape)

    train, test = (
        (read(f"{part}-images-idx3-ubyte.gz", 16, (-1, 28, 28, 1)), read(f"{part}-labels-idx1-ubyte.gz", 8, (-1,)))
        for part in ("train", "t10k")
    )
    return (train[0], train[1].astype(np.int64)), (test[0], test[1].astype(np.int64))


def cifar(folder: Path) -> Split:
    """A subset of CIFAR-10: 10,000 images to train, 2,000 to test."""
    train, test = (mote.dataset(f"{folder / 'cifar10.zip'}:{part}", labelled=True) for part in ("train", "test"))
    return _pair(train), _pair(test)


def _pair(data: Any) -> tuple[Array, Array]:
    (inputs,) = data.inputs.values()
    return inputs, data.labels


def keywords(folder: Path) -> Split:
    """MFCC of spoken words: MLPerf Tiny's 1,000 inputs to train, 300 clips of other recordings to test."""
    scale, zero = KEYWORDS
    with ZipFile(folder / "mlperf_kws01.zip") as archive:
        names = {Path(name).name: name for name in archive.namelist()}
        lines = archive.read(names["y_labels.csv"]).decode().split()
        rows = [line.split(",") for line in lines if line.split(",")[0].strip() in names]
        codes = [np.frombuffer(archive.read(names[row[0].strip()]), np.int8) for row in rows]
    inputs = (np.stack(codes).reshape(-1, 49, 10, 1).astype(np.float32) - zero) * scale
    given = np.load(BytesIO((folder / "keywords_mfcc.npz").read_bytes()))
    return (inputs, np.array([int(row[-1]) for row in rows])), (given["x"], given["y"].astype(np.int64))


def stage(block: str, **options: Any) -> SpaceStage:
    return SpaceStage(block, **options)


WIDE_RESNET = SearchSpace(
    "wide ResNet",
    (
        stage("residual", depth=2),
        stage("residual", width=64, depth=2, stride=2),
        stage("residual", width=128, depth=2, stride=2),
    ),
    stem=stage("conv", width=32),
)
"""The teacher of all networks for images."""
RESNET_8 = SearchSpace(
    "ResNet-8",
    (
        stage("residual"),
        stage("residual", width=32, stride=2),
        stage("residual", width=64, stride=2),
    ),
    stem=stage("conv", width=16),
)
LENET_5 = SearchSpace(
    "LeNet-5-like",
    (stage("pool"), stage("conv", width=16, kernel=5), stage("pool")),
    stem=stage("conv", width=6, kernel=5),
    head=SpaceHead(pool="flatten", hidden=84),
)
MOBILENET_V2 = SearchSpace(
    "MobileNetV2 0.35",
    (
        stage("separable", width=8),
        stage("mobile", width=8, depth=2, expand=6, stride=1),
        stage("mobile", width=16, depth=3, expand=6, stride=2),
        stage("mobile", width=24, depth=4, expand=6, stride=2),
        stage("mobile", width=32, depth=3, expand=6),
        stage("mobile", width=56, depth=3, expand=6, stride=2),
        stage("mobile", width=112, expand=6),
    ),
    stem=stage("conv", width=16, stride=1),
)
DS_CNN = SearchSpace(
    "DS-CNN",
    (stage("separable", width=64, depth=4),),
    stem=stage("conv", width=64, kernel="10x4", stride=2),
)
DS_CNN_STREAMED = replace(DS_CNN, name="DS-CNN, causal", causal=True)
STREAMED = SearchSpace(
    "streamed",
    (
        stage("temporal", width=(32, 48, 64), depth=(1, 2, 3), kernel=(5, 7, 9), stride=2),
        stage("temporal", width=(48, 64, 96), depth=(1, 2, 3), kernel=(5, 7, 9)),
    ),
    stem=stage("frames", width=(24, 32, 48), kernel=(3, 5), stride=2),
    causal=True,
)
"""Part of the space `temporal`: strides that suit a hop of four frames, and widths that use the cycles allowed."""


@dataclass(frozen=True)
class SearchedTask:
    """Data, networks made by hand, and the limits of the search."""

    name: str
    read: Callable[[Path], Split]
    anchors: Sequence[SearchSpace]
    spaces: Sequence[str | SearchSpace]
    limits: Mapping[str, Any]
    epochs: int
    augment: str
    options: Mapping[str, Any] = field(default_factory=dict)
    """Options of `mote.compile` for the searched networks beside the limits."""
    teacher: SearchSpace | None = None
    """The network that all others learn from."""
    compiled_alike: Sequence[SearchSpace] = ()
    """Networks made by hand that are compiled with these options, too."""
    runs: int = 1
    """Inferences with these options for one sample: a stream has several."""
    strategy: str = "auto"
    """Finalists of a supernet are trained longer than networks made by hand, those of halving exactly as they are."""


TASKS = (
    SearchedTask(
        "fashion",
        fashion,
        (LENET_5, RESNET_8, MOBILENET_V2),
        ("repconv", "fused", "separable"),
        {"ram": "16K", "flash": "32K", "cycles": 1_000_000},
        40,
        "flip,shift=2",
        teacher=WIDE_RESNET,
        strategy="halving",
    ),
    SearchedTask(
        "cifar",
        cifar,
        (RESNET_8,),
        ("separable", "fused", "mobile"),
        {"ram": "6K", "cycles": 1_600_000},
        150,
        "flip,shift=4",
        {"input": "rows"},
        teacher=WIDE_RESNET,
        strategy="halving",
    ),
    SearchedTask(
        "cifar-large",
        cifar,
        (),
        ("repconv", "residual", "fused"),
        {"cycles": 10_780_000},
        150,
        "flip,shift=4",
        teacher=WIDE_RESNET,
        strategy="halving",
    ),
    SearchedTask(
        "keywords",
        keywords,
        (DS_CNN,),
        (STREAMED,),
        {"cycles": 73_000},
        80,
        "time=5,stretch=0.15",
        {"stream": 1, "causal": True, "hop": 4},
        compiled_alike=(DS_CNN_STREAMED,),
        runs=13,
        strategy="halving",
    ),
)


def row(task: SearchedTask, member: SearchMember, kind: str) -> dict[str, Any]:
    """What is recorded of a network: costs of an inference, and how many of them a sample takes."""
    return {
        "task": task.name,
        "network": member.name if kind == SEARCHED else member.family,
        "kind": kind,
        "test": round(100 * member.test, 2),
        "validation": round(100 * member.validation, 2),
        "ram": member.costs.ram,
        "flash": member.costs.flash,
        "cycles": round(member.costs.cycles),
        "runs": 1 if kind == BY_HAND else task.runs,
        "choice": dict(member.choice),
    }


def printed(rows: Sequence[Mapping[str, Any]]) -> None:
    """Prints a table of networks."""
    print(f"{'task':9} {'network':18} {'test %':>7} {'RAM':>8} {'flash':>8} {'cycles':>12} {'of a sample':>12}")
    for r in rows:
        print(
            f"{r['task']:9} {r['network']:18} {r['test']:7.2f} {r['ram']:8,} {r['flash']:8,} {r['cycles']:12,}"
            f" {r['cycles'] * r['runs']:12,}"
        )


def recorded(rows: Sequence[Mapping[str, Any]]) -> None:
    """Writes networks in place of those of the same tasks and kinds that are recorded."""
    kept = json.loads(RECORD.read_text("utf-8")) if RECORD.exists() else []
    done = {(r["task"], r["kind"]) for r in rows}
    every = [r for r in kept if (r["task"], r["kind"]) not in done] + [*rows]
    every.sort(key=lambda r: (r["task"], r["kind"]))
    RECORD.write_text(json.dumps(every, indent=1) + "\n", "utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", nargs="+", choices=[task.name for task in TASKS])
    parser.add_argument("--data", type=Path, default=Path("data"), help="folder of the data sets")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--epochs", type=int, help="epochs (default: those of the task)")
    parser.add_argument("--trials", type=int)
    parser.add_argument("--finalists", type=int, default=8)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--only", choices=KINDS, help="networks of one kind only")
    parser.add_argument("--output", type=Path, help="folder for models, reports and journals")
    parser.add_argument("--record", action="store_true", help=f"write {RECORD.name}")
    given = parser.parse_args()
    rows: list[dict[str, Any]] = []
    for task in (task for task in TASKS if task.name in given.tasks):
        train, test = task.read(given.data)
        common: dict[str, Any] = {
            "test": test,
            "target": TARGET,
            "epochs": given.epochs or task.epochs,
            "augment": task.augment,
            "teacher": task.teacher,
            "device": given.device,
            "workers": given.workers,
            "say": lambda text, name=task.name: print(f"{name}: {text}", flush=True),
        }
        by_hand: tuple[tuple[str, Sequence[SearchSpace], Mapping[str, Any]], ...] = (
            (BY_HAND, task.anchors, {}),
            (ALIKE, task.compiled_alike, task.options),
        )
        for kind, spaces, options in by_hand:
            if spaces and KINDS.get(given.only, kind) == kind:
                result = search(train, space=spaces, trials=len(spaces), finalists=len(spaces), **common, **options)
                rows += [row(task, member, kind) for member in (*result.members, *result.dominated)]
        if given.only in (None, "search"):
            if given.output is not None:
                given.output.mkdir(parents=True, exist_ok=True)
            place = {} if given.output is None else {"journal": given.output / f"{task.name}.jsonl"}
            result = search(
                train,
                space=task.spaces,
                trials=given.trials,
                finalists=given.finalists,
                minutes=given.minutes,
                strategy=task.strategy,
                **common,
                **task.limits,
                **task.options,
                **place,
            )
            if given.output is not None:
                result.write(given.output / task.name, force=True)
            rows += [row(task, member, SEARCHED) for member in (*result.members, *result.dominated)]
    printed(rows)
    if given.record:
        recorded(rows)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
