"""Vectorized functions of one tensor: float32 (`mote_unary_f32.h` and `mote_functions_f32.h` with `mote_runs_f32.h`)
and int16 (`mote_lut_s16.h` and `mote_sigmoid_s16.h` with `mote_runs_s16.h`)."""

from __future__ import annotations

from mote.compiler.kernels.helium.common import HELIUM_FLOAT, vectorized
from mote.compiler.kernels.portable.elementwise import unary

REAL = ("logistic_f32", "tanh_f32", "relu_f32", "leaky_relu_f32", "hard_swish_f32", "exp_f32", "gelu_f32")
INT16 = ("lut_s16", "sigmoid_s16")
KERNELS = (
    *(vectorized(kernel, HELIUM_FLOAT) for kernel in unary.KERNELS if kernel.name in REAL),
    *(vectorized(kernel) for kernel in unary.KERNELS if kernel.name in INT16),
)
