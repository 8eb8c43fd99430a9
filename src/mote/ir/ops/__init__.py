"""Operator definitions, one file for each family: attributes, shape inference, the NumPy reference, the rows they
read."""
