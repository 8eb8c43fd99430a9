"""Kernels of preprocessing and post-processing."""

from mote.kernels.portable.features import filters

KERNELS = (*filters.KERNELS,)
