"""Batch size, scaling and examples with which a task's networks are trained."""

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
"""Modules that need PyTorch, imported only for training."""
BATCHES, FEWEST, MOST = 40, 16, 128
"""Minimum number of batches per epoch, and bounds of the batch size: small data sets get small batches."""


def batch_size(task: LearningTask) -> int:
    """Batch size for training."""
    return min(max(len(task.train) // BATCHES, FEWEST), MOST)


def scale_of(network: Network, task: LearningTask) -> float:
    """Divisor of training inputs: the task's scale if the network can fold it into its first layer, else 1."""
    return task.scale if takes_scale(network) else 1.0


def label_scaling(task: LearningTask) -> tuple[Array, Array]:
    """Standard deviation and mean of each regression label."""
    labels = np.asarray(task.train.labels, np.float64).reshape(len(task.train), -1)
    deviation = labels.std(0)
    return np.where(deviation > 0, deviation, 1.0), labels.mean(0)


def examples(network: Network, task: LearningTask, data: Dataset) -> Any:
    """The `Examples` to train a network with: inputs at its size, and labels (standardized for a regression)."""
    labels = np.asarray(data.labels)
    if not task.classes:
        deviation, mean = label_scaling(task)
        labels = ((labels.reshape(len(labels), -1) - mean) / deviation).astype(np.float32)
    inputs = task.inputs(data, scale_of(network, task))
    if inputs.shape[1:] != network.input:
        torch: Any = import_module("torch")
        inputs = import_module(SUPERNET).resized(torch.from_numpy(inputs), network.input).numpy()
    return import_module(TRAINING).Examples(inputs, labels)
