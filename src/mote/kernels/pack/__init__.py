"""What packers of all instruction sets share: parameters of structs, requantization constants, sparsity, coding."""
