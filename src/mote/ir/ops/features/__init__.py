"""Operators of preprocessing and post-processing. Their NumPy references, in integers, define the steps."""
