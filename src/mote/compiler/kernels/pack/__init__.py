"""Shared by the packers of all instruction sets: parameters of structs, requantization constants, sparsity, coding."""
