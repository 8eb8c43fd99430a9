"""Trains `gestures.tflite`: movements of a wrist from features of four windows.

    PYTHONPATH=src python examples/gestures/train.py

Needs torch; takes half a minute. The file's metadata has the steps from raw samples to the
network's input.
"""

from __future__ import annotations

from pathlib import Path

import movements
import numpy as np
import torch
from torch import nn

import mote

HERE = Path(__file__).parent
FEATURES = (
    f"motion(rate={movements.RATE}),"
    "motion-features(frame=64,hop=32,features=std+kurtosis+mean-crossings,bands=1-4-10-25)"
)
ROWS = (4, 18)
"""Windows of features that the network takes, and features of each."""
TRAINED, EPOCHS, BATCH = 1000, 40, 50
CLIPPED = 4
"""Standard deviations from the mean that the network's input holds."""


def features(windows: np.ndarray, steps: str) -> np.ndarray:
    """[windows, rows, features] that steps compute of raw samples."""
    (values,) = mote.dataset(windows, preprocess=steps).inputs.values()
    return values


def normalized(steps: str, values: np.ndarray) -> str:
    """The steps, and those that bring all features to a mean of 0 and a deviation of 1."""
    mean, std = (",".join(f"{x:.4g}" for x in numbers) for numbers in (values.mean((0, 1)), values.std((0, 1))))
    return f"{steps},mean({mean}),std({std}),clip(-{CLIPPED},{CLIPPED})"


def trained(values: np.ndarray, labels: np.ndarray) -> nn.Module:
    """A network that tells movements apart."""
    torch.manual_seed(0)
    torch.set_num_threads(1)
    net = nn.Sequential(
        nn.Flatten(),
        nn.Linear(values[0].size, 12),
        nn.ReLU(),
        nn.Linear(12, len(movements.NAMES)),
        nn.Softmax(dim=1),
    )
    optimizer = torch.optim.Adam(net.parameters(), lr=3e-3, weight_decay=1e-3)
    x, y = torch.from_numpy(values)[:, None], torch.from_numpy(labels)
    for _ in range(EPOCHS):
        for chosen in torch.randperm(len(x)).split(BATCH):
            noisy = x[chosen] + 0.1 * torch.randn(x[chosen].shape)
            loss = nn.functional.nll_loss(torch.log(net(noisy) + 1e-6), y[chosen])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    print(f"cross entropy of the last batch: {loss.item():.3f}")
    return net.eval()


def main() -> None:
    windows, labels = movements.windows(TRAINED, seed=0)
    steps = normalized(FEATURES, features(windows, FEATURES))
    net = trained(features(windows, steps), labels)
    calibration = mote.dataset(windows, preprocess=steps)
    made = mote.quantize.post_training(net, calibration, example_inputs=(torch.zeros(1, 1, *ROWS),))
    made.write(HERE / "gestures.tflite")


if __name__ == "__main__":
    main()
