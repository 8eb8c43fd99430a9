"""Passes: small functions Graph -> Graph, listed in `pipeline.py` in the order in which they run."""
