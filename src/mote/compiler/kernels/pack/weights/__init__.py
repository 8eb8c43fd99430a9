"""Orders, sparsity and compression of weights."""
