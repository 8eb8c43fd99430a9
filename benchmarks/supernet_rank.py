"""How well a supernet ranks networks: its scores beside the accuracies of the same networks, each trained on its own.

    python benchmarks/supernet_rank.py
    python benchmarks/supernet_rank.py --space mobile --cycles 1000000 --networks 24 --epochs 16 --device cuda

Digits of 8x8 pixels are shown at 16x16: 300 to train with, 360 others to score by. Networks are random ones that fit
the limits, by which the space is narrowed. Both the supernet and each network are trained for the same epochs.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from statistics import mean
from time import monotonic

import numpy as np

import mote
from mote.compiler.settings import make_settings
from mote.optimize.nas.costs.network_costs import CostLimits
from mote.optimize.nas.costs.pricer import Pricer
from mote.optimize.nas.network_family import NetworkFamily
from mote.optimize.nas.spaces.space import SearchSpace
from mote.optimize.nas.spaces.space_file import builtin, builtin_names
from mote.optimize.nas.spaces.stage import SpaceStage
from mote.optimize.nas.tasks import learning_tasks

MODELS = Path(__file__).parents[1] / "models"
NARROW = SearchSpace(
    "narrow",
    (
        SpaceStage("mobile", width=(8, 12, 16), depth=(1, 2), kernel=(3, 5), expand=(2, 3, 4), stride=2),
        SpaceStage("mobile", width=(16, 24, 32), depth=(1, 2), kernel=(3, 5), expand=(2, 3, 4), stride=2),
    ),
    stem=SpaceStage("conv", width=(4, 8, 12)),
)
"""A space whose networks are near one another in size."""


def digits(part: str) -> mote.Dataset:
    """Digits at 16x16 pixels."""
    with np.load(MODELS / f"digits_{part}.npz") as arrays:
        return mote.dataset((arrays["x"].repeat(2, 1).repeat(2, 2), arrays["y"].astype(np.int64)), labelled=True)


def kendall(one: Sequence[float], other: Sequence[float]) -> float:
    """The rank correlation of Kendall: pairs in the same order less those in the other, of all pairs."""
    signs = [np.sign((a - b) * (c - d)) for (a, c), (b, d) in combinations(zip(one, other, strict=True), 2)]
    return float(np.mean(signs))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--space", choices=builtin_names(), help="a space that comes with Mote (default: a narrow one)")
    parser.add_argument("--cycles", type=int, help="the most cycles of a network on a Cortex-M4")
    parser.add_argument("--networks", type=int, default=12)
    parser.add_argument("--epochs", type=int, default=8)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    space = builtin(given.space) if given.space else NARROW
    (task,) = learning_tasks(digits("train"), digits("test"), kind="image")
    pricer = Pricer(make_settings(target="cortex-m4"), CostLimits(cycles=given.cycles))
    began = monotonic()
    alone = NetworkFamily.of(
        space, [task], pricer, epochs=given.epochs, device=given.device, strategy="supernet", count=given.networks
    )
    shared = alone.prepared("", lambda text: None)
    print(f"{space.name}: the largest network takes {shared.width:.1f} times the operations of the median one;")
    print(f"costed and trained as a supernet in {monotonic() - began:.0f} s")
    print(f"{'operations':>10} {'supernet':>9} {'alone':>7}")
    scores, accuracies = [], []
    for choice in shared.pool:
        scores.append(shared.score(choice, 0))
        accuracies.append(replace(alone, strategy="halving").score(choice, given.epochs))
        print(f"{alone.network(choice).macs:10,} {scores[-1]:9.1%} {accuracies[-1]:7.1%}", flush=True)
    print(f"{'mean':>10} {mean(scores):9.1%} {mean(accuracies):7.1%}")
    print(f"Kendall's rank correlation: {kendall(scores, accuracies):.2f}; all took {monotonic() - began:.0f} s")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
