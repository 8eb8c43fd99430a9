"""Kernels of preprocessing and post-processing."""

from mote.kernels.portable.features import filters, images, motion

KERNELS = (*filters.KERNELS, *images.KERNELS, *motion.KERNELS)
