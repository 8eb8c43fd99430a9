"""Trains `keywords.tflite`: the usual keyword-spotting shape, 49 frames of 10 features, on made-up "words".

    python models/train_keywords.py

`made_up_words.py` makes these words. Needs torch and ai-edge-litert; takes a few minutes on one core.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ds_cnn import Data, Shape, bundle, train
from made_up_words import WORDS, word

TRAIN_WORDS, TEST_WORDS = 4000, 1000
SHAPE = Shape(kernel=(10, 4), stride=(2, 2), channels=48, blocks=((48, 1),) * 4, classes=8)


def words(count: int, rng: np.random.Generator) -> tuple[NDArray[np.float32], NDArray[np.int64]]:
    """Utterances of words drawn at random, and which they are."""
    labels = rng.integers(0, len(WORDS), count)
    tracks = list(WORDS.values())
    images = np.array([word(tracks[label], rng) for label in labels], np.float32)
    return images[..., None], labels


def main() -> None:
    rng = np.random.default_rng(0)
    data = Data(*words(TRAIN_WORDS, rng), *words(TEST_WORDS, rng))
    model = train(SHAPE, data, epochs=15, shift=(3, 0), noise=0.1)
    bundle(Path(__file__).with_name("keywords.tflite"), model, data, list(WORDS), pool_with_mean=False)


if __name__ == "__main__":
    main()
