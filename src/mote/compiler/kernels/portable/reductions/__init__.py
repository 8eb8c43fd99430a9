"""Reduction kernels: sums, extremes, normalizations."""

from mote.compiler.kernels.portable.reductions import along_axis, cumprod_det, fused_last_axis, mean, reduce, softmax

KERNELS = (
    *mean.KERNELS,
    *reduce.KERNELS,
    *along_axis.KERNELS,
    *softmax.KERNELS,
    *fused_last_axis.KERNELS,
    *cumprod_det.KERNELS,
)
