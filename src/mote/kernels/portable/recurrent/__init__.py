"""Kernels of recurrent layers."""

from mote.kernels.portable.recurrent import lstm, rnn, sequences, svdf

KERNELS = (*svdf.KERNELS, *lstm.KERNELS, *sequences.KERNELS, *rnn.KERNELS)
