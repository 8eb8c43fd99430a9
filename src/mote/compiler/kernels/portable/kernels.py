"""The kernels in portable C, which compute every operator on any core, by families of operators."""

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
