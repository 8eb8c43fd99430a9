"""Kernels of on-device training: layers with learned weights, gradients, losses and optimizer steps, in float32 and in
integers."""

from mote.compiler.kernels.portable.training import (
    gradient_sums,
    gradients,
    integer_gradients,
    integer_losses,
    integer_steps,
    learned_layers,
    losses,
    optimizers,
)

KERNELS = (
    *learned_layers.KERNELS,
    *gradients.KERNELS,
    *losses.KERNELS,
    *optimizers.KERNELS,
    *integer_losses.KERNELS,
    *integer_gradients.KERNELS,
    *gradient_sums.KERNELS,
    *integer_steps.KERNELS,
)
