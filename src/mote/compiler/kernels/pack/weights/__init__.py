"""Weight orders, sparsity and compression."""
