"""Samples of a task as networks are trained with them."""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np

from mote.frontends.data.dataset_type import Dataset
from mote.ir.graph.tensor import Array
from mote.optimize.nas.folding import takes_scale
from mote.optimize.nas.spaces.network import Network
from mote.optimize.nas.tasks import LearningTask

TRAINING, SUPERNET = "mote.optimize.nas.training.fit", "mote.optimize.nas.training.supernet"
"""Loaded only for training, as they need PyTorch."""
BATCHES, FEWEST, MOST = 40, 16, 128
"""Batches of an epoch at least, and limits of samples in a batch: little data is trained on in small batches."""


def batch_size(task: LearningTask) -> int:
    """Samples of a batch in training."""
    return min(max(len(task.train) // BATCHES, FEWEST), MOST)


def scale_of(network: Network, task: LearningTask) -> float:
    """The scale that inputs are divided by in training: one that the network can take over."""
    return task.scale if takes_scale(network) else 1.0


def standard(task: LearningTask) -> tuple[Array, Array]:
    """The deviation and the mean of each value of a regression."""
    labels = np.asarray(task.train.labels, np.float64).reshape(len(task.train), -1)
    deviation = labels.std(0)
    return np.where(deviation > 0, deviation, 1.0), labels.mean(0)


def examples(network: Network, task: LearningTask, data: Dataset) -> Any:
    """The `Examples` that the network is trained with: samples at its size, and labels."""
    labels = np.asarray(data.labels)
    if not task.classes:
        deviation, mean = standard(task)
        labels = ((labels.reshape(len(labels), -1) - mean) / deviation).astype(np.float32)
    inputs = task.inputs(data, scale_of(network, task))
    if inputs.shape[1:] != network.input:
        torch: Any = import_module("torch")
        inputs = import_module(SUPERNET).resized(torch.from_numpy(inputs), network.input).numpy()
    return import_module(TRAINING).Examples(inputs, labels)
