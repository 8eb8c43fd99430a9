"""How long a step of fine-tuning takes, beside one of the float model: both in one run, of one process and thread.

PYTHONPATH=src python benchmarks/fine_tuning_step.py [--batch 64]
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from time import process_time

import torch
from torch import nn

from mote import quantize

STEPS, TRIES = 5, 5
NETWORKS: Mapping[str, tuple[tuple[int, ...], nn.Module]] = {
    "fully connected": ((64,), nn.Sequential(nn.Linear(64, 48), nn.ReLU(), nn.Linear(48, 10))),
    "convolutions, 8x8": (
        (1, 8, 8),
        nn.Sequential(
            *(nn.Conv2d(1, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, padding=1, stride=2), nn.ReLU()),
            *(nn.Flatten(), nn.Linear(256, 10)),
        ),
    ),
}


def seconds(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    """CPU time of a step: the least of several tries."""
    optimizer = torch.optim.SGD(model.parameters(), 1e-4)

    def steps() -> float:
        began = process_time()
        for _ in range(STEPS):
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(x), y).backward()
            optimizer.step()
        return (process_time() - began) / STEPS

    steps()
    return min(steps() for _ in range(TRIES))


def main(arguments: Sequence[str] | None = None) -> int:
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--batch", type=int, default=64, help="samples of a step (default: 64)")
    batch = p.parse_args(arguments).batch
    torch.manual_seed(0)
    torch.set_num_threads(1)
    for name, (shape, network) in NETWORKS.items():
        x, y = torch.rand(batch, *shape), torch.randint(0, 10, (batch,))
        prepared = quantize.prepare(network, x[:1], x.numpy())
        exact, integers = seconds(network.train(), x, y), seconds(prepared, x, y)
        print(f"{name}: float {1e3 * exact:.2f} ms, fine-tuning {1e3 * integers:.2f} ms, {integers / exact:.1f}x")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
