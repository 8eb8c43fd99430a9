"""Kernels of training: gradients, losses and the steps of optimizers, in float32."""

from mote.kernels.portable.training import gradients, losses

KERNELS = (*gradients.KERNELS, *losses.KERNELS)
