"""Kernels of learning on the device without gradients."""

from mote.kernels.portable.learning import neighbors, one_class, prototypes

KERNELS = (*prototypes.KERNELS, *neighbors.KERNELS, *one_class.KERNELS)
