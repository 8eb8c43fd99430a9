"""Kernels with sliding windows over images: convolutions, pooling, resizing, sampling."""

from mote.compiler.kernels.portable.windows import (
    conv,
    conv3d,
    depthwise,
    grid_roi_sampling,
    learned_layers,
    pool,
    resize,
    transpose_conv,
)
from mote.compiler.kernels.portable.windows.coded_conv import coded
from mote.compiler.kernels.portable.windows.nibbles_conv import nibbles

KERNELS = (
    *conv.KERNELS,
    *depthwise.KERNELS,
    *coded(conv.POINTWISE),
    *coded(conv.CONV2D),
    *nibbles(conv.POINTWISE),
    *nibbles(conv.CONV2D),
    *pool.KERNELS,
    *resize.KERNELS,
    *transpose_conv.KERNELS,
    *conv3d.KERNELS,
    *grid_roi_sampling.KERNELS,
    *learned_layers.KERNELS,
)
