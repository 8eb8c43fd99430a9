"""Graph passes: small functions from a graph to a graph, listed in the order in which they run in `pipeline.py`."""
