"""The calls of CMSIS-NN's functions, by the operator."""

from __future__ import annotations

from collections.abc import Mapping

from mote.graph import Op
from mote.offload.cmsis_nn.elementwise import add, multiply, softmax
from mote.offload.cmsis_nn.layers import convolve, depthwise, fully_connected, pool, transpose_convolve
from mote.offload.cmsis_nn.recurrent import lstm, svdf
from mote.offload.library.call import Caller
from mote.ops.elementwise.arithmetic import Add, Mul
from mote.ops.matrix.fully_connected import FullyConnected
from mote.ops.recurrent.lstm import Lstm, StatelessLstm
from mote.ops.recurrent.svdf import Svdf
from mote.ops.reductions.softmax import Softmax
from mote.ops.windows.conv import Conv2D
from mote.ops.windows.depthwise import DepthwiseConv2D
from mote.ops.windows.pool import AveragePool, MaxPool
from mote.ops.windows.transpose_conv import TransposeConv

CALLERS: Mapping[type[Op], Caller] = {
    Conv2D: convolve,
    DepthwiseConv2D: depthwise,
    FullyConnected: fully_connected,
    TransposeConv: transpose_convolve,
    AveragePool: pool,
    MaxPool: pool,
    Softmax: softmax,
    Add: add,
    Mul: multiply,
    Svdf: svdf,
    Lstm: lstm,
    StatelessLstm: lstm,
}
"""What makes the call of each."""
