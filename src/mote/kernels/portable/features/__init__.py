"""Kernels of preprocessing and post-processing."""

from mote.kernels.portable.features import (
    filters,
    images,
    motion,
    scaling,
    scores,
)

KERNELS = (
    *filters.KERNELS,
    *images.KERNELS,
    *motion.KERNELS,
    *scaling.KERNELS,
    *scores.KERNELS,
)
