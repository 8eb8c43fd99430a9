"""Kernel selection: fusion, layouts, and the kernel of each operator."""
