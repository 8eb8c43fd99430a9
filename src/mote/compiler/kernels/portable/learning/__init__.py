"""Kernels of on-device learners without gradients."""

from mote.compiler.kernels.portable.learning import gaussian, linear, neighbors, one_class, prototypes

KERNELS = (*prototypes.KERNELS, *neighbors.KERNELS, *one_class.KERNELS, *gaussian.KERNELS, *linear.KERNELS)
