"""Handwritten digits, 8x8 pixels, and a small network for them that has not been trained."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("sklearn")

from sklearn.datasets import load_digits

from mote.bench.execute.torch.module import Trainable
from mote.ir.graph import Graph
from mote.ir.graph.tensor import Array


@dataclass(frozen=True, eq=False)
class Digits:
    """Images [n, 8, 8, 1] and what they show."""

    images: Array
    labels: Array | None

    def cases(self, graph: Graph) -> list[dict[int, Array]]:
        return [{graph.inputs[0]: image[None]} for image in self.images]

    def without_labels(self) -> Digits:
        return Digits(self.images, None)


@cache
def digits() -> tuple[Digits, Digits]:
    """For training and for testing."""
    found = load_digits()
    images, labels = (found.images[..., None] / 16).astype(np.float32), found.target.astype(np.int64)
    chosen = np.random.default_rng(0).permutation(len(images))
    train, test = chosen[:1200], chosen[1200:]
    return Digits(images[train], labels[train]), Digits(images[test], labels[test])


def accuracy(module: Trainable, data: Digits) -> float:
    with torch.no_grad():
        scores = module.scores(torch.from_numpy(data.images))
    return float((scores.argmax(-1).numpy() == data.labels).mean())
