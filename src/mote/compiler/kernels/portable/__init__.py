"""Portable C kernels, by family of operators. They compute every operator on any core."""
