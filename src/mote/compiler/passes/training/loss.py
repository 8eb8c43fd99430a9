"""The losses of training on a device."""

from __future__ import annotations

from enum import StrEnum

from mote.base.errors import MoteError


class Loss(StrEnum):
    """The losses that a model can be trained with."""

    SOFTMAX_CROSS_ENTROPY = "softmax_cross_entropy"
    """The first output has a logit for each class, or the softmax of these; the label is an int32 class."""
    MEAN_SQUARED_ERROR = "mean_squared_error"
    """The state `target` has the values that the first output should have."""


def known_loss(loss: str) -> Loss:
    """The loss with a name; an error for an unknown one."""
    try:
        return Loss(loss)
    except ValueError:
        raise MoteError(f"there is no loss '{loss}'", where="loss", remedy=f"one of {', '.join(Loss)}") from None
