"""Regression metrics: distances between outputs and labels."""

from __future__ import annotations

import numpy as np

from mote.base.errors import MoteError
from mote.bench.metrics.arrays import Array, check_rows, flat


def differences(outputs: Array, wanted: Array) -> Array:
    """Outputs minus labels, [samples, values]."""
    check_rows(outputs, wanted)
    given, right = flat(outputs), flat(wanted)
    if given.shape != right.shape:
        raise MoteError(
            f"the model gives {given.shape[1]} numbers for a sample, and labels have {right.shape[1]}",
            remedy="give as many labels for a sample as the model has outputs",
        )
    errors: Array = given.astype(np.float64) - right
    return errors


def reconstruction_error(outputs: Array, inputs: Array) -> Array:
    """Mean squared error between input and output per sample: the anomaly score of an autoencoder."""
    errors: Array = np.square(differences(outputs, inputs)).mean(1)
    return errors
