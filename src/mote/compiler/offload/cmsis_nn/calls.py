"""The calls of CMSIS-NN's functions, by kind of operator."""

from __future__ import annotations

from collections.abc import Mapping

from mote.compiler.offload.cmsis_nn.elementwise import add, multiply, softmax
from mote.compiler.offload.cmsis_nn.layers import convolve, depthwise, fully_connected, pool, transpose_convolve
from mote.compiler.offload.cmsis_nn.recurrent import lstm, svdf
from mote.compiler.offload.library.call import Caller
from mote.ir.graph import Op
from mote.ir.ops.elementwise.arithmetic import Add, Mul
from mote.ir.ops.matrix.fully_connected import FullyConnected
from mote.ir.ops.recurrent.lstm import Lstm, StatelessLstm
from mote.ir.ops.recurrent.svdf import Svdf
from mote.ir.ops.reductions.softmax import Softmax
from mote.ir.ops.windows.conv import Conv2D
from mote.ir.ops.windows.depthwise import DepthwiseConv2D
from mote.ir.ops.windows.pool import AveragePool, MaxPool
from mote.ir.ops.windows.transpose_conv import TransposeConv

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
"""By class of operator: the function that creates the call."""
