"""Trains `vibration.tflite`: an autoencoder of features of a machine that runs well.

    PYTHONPATH=src python examples/vibration/train.py

Needs torch; takes half a minute. The file's metadata has the steps from raw samples to the
network's input.
"""

from __future__ import annotations

from pathlib import Path

import machine
import numpy as np
import torch
from torch import nn

import mote

HERE = Path(__file__).parent
FEATURES = (
    f"motion(rate={machine.RATE},channels=1),motion-features(frame={machine.WINDOW},hop={machine.WINDOW},"
    "features=std+skew+kurtosis+peak-to-peak,bands=12-50-200-400-800-1200-1600,wavelet=haar,levels=4)"
)
TRAINED, EPOCHS, BATCH = 2000, 150, 100
CLIPPED = 8
"""Standard deviations from the mean that the network's input holds."""


def features(windows: np.ndarray, steps: str) -> np.ndarray:
    """[windows, features] that steps compute of raw samples."""
    (values,) = mote.dataset(windows, preprocess=steps).inputs.values()
    return values.reshape(len(windows), -1)


def normalized(steps: str, values: np.ndarray) -> str:
    """The steps, and those that bring all features to a mean of 0 and a deviation of 1."""
    mean, std = (",".join(f"{x:.4g}" for x in numbers) for numbers in (values.mean(0), values.std(0)))
    return f"{steps},mean({mean}),std({std}),clip(-{CLIPPED},{CLIPPED})"


def trained(values: np.ndarray) -> nn.Module:
    """A network that gives back features of a machine that runs well, through four numbers."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    size = values.shape[1]
    net = nn.Sequential(
        *(nn.Linear(size, 16), nn.ReLU(), nn.Linear(16, 4), nn.ReLU()),
        *(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, size)),
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3)
    x = torch.from_numpy(values)
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(x)).split(BATCH):
            loss = nn.functional.mse_loss(net(x[chosen]), x[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"mean squared error of the last batch: {loss.item():.3f}")
    return net.eval()


def main() -> None:
    windows = machine.windows(TRAINED, seed=0)
    steps = normalized(FEATURES, features(windows, FEATURES))
    values = features(windows, steps)
    net = trained(values)
    with_faults = [machine.windows(300, seed=1), *(machine.windows(60, fault, seed=1) for fault in machine.FAULTS)]
    calibration = mote.dataset(np.concatenate(with_faults), preprocess=steps)
    made = mote.quantize.post_training(net, calibration, example_inputs=(torch.from_numpy(values[:1]),))
    made.write(HERE / "vibration.tflite")


if __name__ == "__main__":
    main()
