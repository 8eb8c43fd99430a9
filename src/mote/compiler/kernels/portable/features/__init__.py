"""Kernels of preprocessing and post-processing."""

from mote.compiler.kernels.portable.features import filters, images, micro, motion, scaling, scores, spectral

KERNELS = (
    *filters.KERNELS,
    *images.KERNELS,
    *micro.KERNELS,
    *motion.KERNELS,
    *scaling.KERNELS,
    *scores.KERNELS,
    *spectral.KERNELS,
)
