"""Kernels of learning on the device without gradients."""

from mote.kernels.portable.learning import prototypes

KERNELS = (*prototypes.KERNELS,)
