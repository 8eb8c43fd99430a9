"""Kernels of recurrent layers."""

from mote.compiler.kernels.portable.recurrent import lstm, rnn, sequences, svdf

KERNELS = (*svdf.KERNELS, *lstm.KERNELS, *sequences.KERNELS, *rnn.KERNELS)
