"""The losses of training on a device."""

from __future__ import annotations

from enum import StrEnum

from mote.base.errors import MoteError


class Loss(StrEnum):
    """The losses that a model can be trained with."""

    SOFTMAX_CROSS_ENTROPY = "softmax_cross_entropy"
    """The model's first output has a logit for each class, or the softmax of these; `label` has the classes, int32."""
    MEAN_SQUARED_ERROR = "mean_squared_error"
    """`target` has what the model's first output should be."""


def known_loss(loss: str) -> Loss:
    """The loss with a name."""
    try:
        return Loss(loss)
    except ValueError:
        raise MoteError(f"there is no loss '{loss}'", where="loss", remedy=f"one of {', '.join(Loss)}") from None
