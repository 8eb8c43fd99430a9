"""Packing code shared by the kernels of all instruction sets: struct parameters, requantization constants, weight
orders, sparsity, coding."""
