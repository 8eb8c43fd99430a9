"""Kernels of learning on the device without gradients."""

from mote.kernels.portable.learning import neighbors, prototypes

KERNELS = (*prototypes.KERNELS, *neighbors.KERNELS)
