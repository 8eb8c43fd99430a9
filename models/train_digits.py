"""Trains `digits.tflite`: handwritten digits, 8x8 pixels, from scikit-learn's copy of the UCI data set.

    python models/train_digits.py

Needs torch, scikit-learn and ai-edge-litert; takes half a minute on one core.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from ds_cnn import Data, Shape, bundle, train

SHAPE = Shape(kernel=(3, 3), stride=(1, 1), channels=16, blocks=((24, 2), (32, 1)), classes=10)
CALIBRATION = 300


def load() -> Data:
    """A fifth of the images, in the same proportions of digits, is kept for testing."""
    digits = load_digits()
    images = (digits.images[..., None] / digits.images.max()).astype(np.float32)
    labels = digits.target.astype(np.int64)
    train_images, test_images, train_labels, test_labels = train_test_split(
        images, labels, test_size=0.2, stratify=labels, random_state=0
    )
    return Data(train_images, train_labels, test_images, test_labels)


def write_data(data: Data, folder: Path) -> None:
    """Write what the commands in docs calibrate with, `digits_train.npz`, and what they score, `digits_test.npz`."""
    for name, x, y in (
        ("train", data.train_images[:CALIBRATION], data.train_labels[:CALIBRATION]),
        ("test", data.test_images, data.test_labels),
    ):
        np.savez_compressed(folder / f"digits_{name}.npz", x=x, y=y.astype(np.uint8))


def main() -> None:
    data = load()
    write_data(data, Path(__file__).parent)
    model = train(SHAPE, data, epochs=60, shift=(1, 1), noise=0.05)
    names = [str(digit) for digit in range(10)]
    bundle(Path(__file__).with_name("digits.tflite"), model, data, names, pool_with_mean=True)


if __name__ == "__main__":
    main()
