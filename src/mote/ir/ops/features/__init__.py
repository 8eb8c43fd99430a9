"""Operators of preprocessing and post-processing. Their integer NumPy references are the specification."""
