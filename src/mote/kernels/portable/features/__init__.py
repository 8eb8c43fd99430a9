"""Kernels of preprocessing and post-processing."""

from mote.kernels.portable.features import filters, images

KERNELS = (*filters.KERNELS, *images.KERNELS)
