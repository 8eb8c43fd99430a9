"""What fine-tuning gives back of the accuracy that few bits cost.

    PYTHONPATH=src python benchmarks/fine_tuning.py                          # digits: a minute on one core
    PYTHONPATH=src python benchmarks/fine_tuning.py --images ../shared --device cuda

`--images` is a folder with `models/pretrainedResnet.tflite`, the image classifier of MLPerf Tiny, and with
`data/cifar10.zip` (or with both files), which is tried instead of the digits. Every row begins with the same model of
real numbers: quantized after training, with the nearest integers and with the best that Mote finds without training,
then fine-tuned with integers. Beside it stands the model of real numbers trained in the same way: labels may teach it
something too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

from mote import quantize
from mote.bench.execute.torch.exact.forward import forward, in_steps
from mote.bench.execute.torch.module import GraphModule, score_tensor
from mote.compiler.passes.normal_form import normal
from mote.frontends import load
from mote.frontends.data.dataset import Dataset, dataset
from mote.ir.graph import Graph
from mote.optimize.train.training import Recipe, chosen, stacked, train

PRECISIONS = ("int8", "int4", "int16")
MODELS = Path(__file__).parents[1] / "models"
CALIBRATION = 200
BATCH = 250
"""Samples that are judged at once."""


@dataclass(frozen=True, eq=False)
class Subject:
    """A model of real numbers, how it is given to Mote, and its data."""

    name: str
    model: Any
    example: Any
    learned: Dataset
    tested: Dataset
    rate: float
    epochs: int
    augment: Callable[[Sequence[torch.Tensor]], Sequence[torch.Tensor]] | None = None

    @property
    def graph(self) -> Graph:
        return normal(load(self.model, example_inputs=self.example))

    @property
    def calibration(self) -> Dataset:
        return self.learned.take(np.linspace(0, len(self.learned) - 1, CALIBRATION).astype(np.int64))


def digits() -> Subject:
    """Handwritten digits of 8x8 pixels, and a small network that is trained first."""
    from sklearn.datasets import load_digits

    found = load_digits()
    order = np.random.default_rng(0).permutation(len(found.target))
    images, labels = (found.images[order, None] / 16).astype(np.float32), found.target[order].astype(np.int64)
    torch.manual_seed(0)
    model = nn.Sequential(
        *_layer(nn.Conv2d(1, 8, 3, padding=1, bias=False)),
        *_layer(nn.Conv2d(8, 8, 3, stride=2, padding=1, groups=8, bias=False)),
        *_layer(nn.Conv2d(8, 16, 1, bias=False)),
        *_layer(nn.Conv2d(16, 16, 3, padding=1, bias=False)),
        nn.AdaptiveAvgPool2d(1),
        nn.Flatten(),
        nn.Linear(16, 10),
    )
    optimizer = torch.optim.Adam(model.parameters(), 0.01)
    for _ in range(20):
        for some in torch.split(torch.randperm(1200), 50):
            optimizer.zero_grad()
            scores = model(torch.from_numpy(images[some]))
            nn.functional.cross_entropy(scores, torch.from_numpy(labels[some])).backward()
            optimizer.step()
    learned, tested = (dataset((images[part], labels[part])) for part in (slice(1200), slice(1200, None)))
    return Subject("digits", model.eval(), torch.zeros(1, 1, 8, 8), learned, tested, 0.003, 5)


def _layer(convolution: nn.Conv2d) -> list[nn.Module]:
    return [convolution, nn.BatchNorm2d(convolution.out_channels), nn.ReLU()]


def images(folder: Path) -> Subject:
    """CIFAR-10, and the ResNet of MLPerf Tiny as it was published."""
    names = "pretrainedResnet.tflite", "cifar10.zip"
    model, archive = (next(p for p in (folder / n, *folder.glob(f"*/{n}")) if p.exists()) for n in names)
    parts = (dataset(f"{archive}/{part}") for part in ("train", "test"))
    return Subject("IC", str(model), None, *parts, 0.003, 5, moved)


def moved(inputs: Sequence[torch.Tensor]) -> list[torch.Tensor]:
    """Pictures, half of them mirrored, all of them shifted by up to three pixels."""
    found = []
    for x in inputs:
        mirrored = torch.where(torch.rand(len(x), 1, 1, 1, device=x.device) < 0.5, x.flip(2), x)
        shifts = torch.randint(-3, 4, (2,)).tolist()
        found.append(torch.roll(mirrored, shifts, (1, 2)))
    return found


def right(scores: Callable[..., torch.Tensor], graph: Graph, data: Dataset, device: str) -> float:
    """The share of samples whose largest score is that of their class."""
    hits = 0
    assert data.labels is not None
    inputs = stacked(graph, data)
    with torch.no_grad():
        for begin in range(0, len(data), BATCH):
            found = scores(*(x[begin : begin + BATCH].to(device) for x in inputs)).argmax(-1).cpu().numpy()
            hits += int((found.reshape(-1) == data.labels[begin : begin + BATCH]).sum())
    return hits / len(data)


def integer_scores(graph: Graph) -> Callable[..., torch.Tensor]:
    """What a quantized graph gives before its softmax, in integers."""
    (i,), wanted = graph.inputs, score_tensor(graph)

    def scores(x: torch.Tensor) -> torch.Tensor:
        return forward(graph, {i: in_steps(x, graph.tensors[i]).unsqueeze(1)})[wanted].flatten(1)

    return scores


def rows(subject: Subject, precisions: Sequence[str], epochs: int, device: str, seed: int) -> Iterator[list[str]]:
    torch.manual_seed(seed)
    where, graph = chosen(device), subject.graph
    module = GraphModule(graph).to(where)
    plain = right(module.scores, graph, subject.tested, where)
    recipe = Recipe(epochs=epochs, rate=subject.rate, seed=seed, relative=True)
    train(module, subject.learned, recipe, augment=subject.augment, device=device)
    learned = right(module.to(where).scores, graph, subject.tested, where)
    for precision in precisions:
        options = {"data": subject.calibration, "precision": precision, "example_inputs": subject.example}
        rounded = [quantize.post_training(subject.model, rounding=how, **options) for how in ("nearest", "adaptive")]
        before = [right(integer_scores(found.graph), graph, subject.tested, where) for found in rounded]
        prepared = quantize.prepare(subject.model, **options)
        quantize.train(
            prepared,
            subject.learned,
            epochs=epochs,
            rate=subject.rate,
            augment=subject.augment,
            device=device,
            seed=seed,
        )
        after = right(prepared.to(where).aware.scores, graph, subject.tested, where)
        yield [subject.name, precision, *(f"{100 * x:.1f}%" for x in (plain, *before, after, learned))]


def check(device: str) -> None:
    """The integers of a device are those of the NumPy reference, in the models of the project."""
    for name in ("digits", "keywords"):
        graph = load(str(MODELS / f"{name}.tflite"))
        (i,) = graph.inputs
        cases = np.random.default_rng(0).integers(-128, 128, (8, *graph.tensors[i].shape)).astype(np.int8)
        found = forward(graph, {i: torch.from_numpy(cases).to(device, torch.int64)})
        for k, case in enumerate(cases):
            for t, value in graph.evaluate({i: case}).items():
                if t in graph.producers and not np.array_equal(found[t][k].cpu().numpy(), value):
                    raise SystemExit(f"{name} on {device}: {graph.producers[t].where} differs")
        print(f"{name}: {len(graph.ops)} layers of {len(cases)} inputs are the same on {device} as in NumPy")


HEAD = ["model", "precision", "float", "nearest integers", "best integers", "fine-tuned", "float, trained as long"]


def main() -> None:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--images", type=Path, help="the folder with the image classifier and its data")
    p.add_argument("--precisions", default=",".join(PRECISIONS))
    p.add_argument("--epochs", type=int, default=0, help="of training (else as many as a model needs)")
    p.add_argument("--device", default="auto", help="cpu or cuda (else an accelerator where there is one)")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--check", action="store_true", help="whether the device computes exactly, and nothing else")
    arguments = p.parse_args()
    if arguments.check:
        check(chosen(arguments.device))
        return
    subject = images(arguments.images) if arguments.images else digits()
    print(f"| {' | '.join(HEAD)} |\n|{' --- |' * len(HEAD)}", flush=True)
    epochs = arguments.epochs or subject.epochs
    for row in rows(subject, arguments.precisions.split(","), epochs, arguments.device, arguments.seed):
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
