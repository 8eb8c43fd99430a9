"""Kernels of training: gradients, losses and the steps of optimizers, in float32 and in integers."""

from mote.kernels.portable.training import gradients, integer_gradients, integer_losses, integer_steps, losses

KERNELS = (
    *gradients.KERNELS,
    *losses.KERNELS,
    *integer_losses.KERNELS,
    *integer_gradients.KERNELS,
    *integer_steps.KERNELS,
)
