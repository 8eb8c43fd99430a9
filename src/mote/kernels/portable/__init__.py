"""The kernels in portable C, which compute every operator on any core."""

from mote.kernels.portable import (
    arithmetic,
    batch_matmul,
    conv,
    depthwise,
    fully_connected,
    lstm,
    mean,
    move,
    pool,
    prelu,
    quantize,
    resize,
    softmax,
    state,
    svdf,
    transpose_conv,
    unary,
)
from mote.kernels.portable.coded import coded

KERNELS = (
    *conv.KERNELS,
    *depthwise.KERNELS,
    *fully_connected.KERNELS,
    *coded(conv.POINTWISE),
    *coded(conv.CONV2D),
    *arithmetic.KERNELS,
    *pool.KERNELS,
    *mean.KERNELS,
    *softmax.KERNELS,
    *unary.KERNELS,
    *prelu.KERNELS,
    *quantize.KERNELS,
    *move.KERNELS,
    *state.KERNELS,
    *resize.KERNELS,
    *transpose_conv.KERNELS,
    *svdf.KERNELS,
    *lstm.KERNELS,
    *batch_matmul.KERNELS,
)
