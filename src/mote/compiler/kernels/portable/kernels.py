"""Portable C kernels, by family of operators. They compute every operator on any core."""

from mote.compiler.kernels.portable import (
    classical,
    control,
    elementwise,
    features,
    indexing,
    learning,
    matrix,
    moves,
    recurrent,
    reductions,
    signal,
    training,
    windows,
)

KERNELS = (
    *windows.KERNELS,
    *matrix.KERNELS,
    *elementwise.KERNELS,
    *reductions.KERNELS,
    *moves.KERNELS,
    *indexing.KERNELS,
    *control.KERNELS,
    *recurrent.KERNELS,
    *classical.KERNELS,
    *signal.KERNELS,
    *features.KERNELS,
    *learning.KERNELS,
    *training.KERNELS,
)
