"""Operator definitions, grouped by family: attributes, shape inference, the NumPy reference, the input rows that output
rows depend on."""
