"""Graphs as modules of PyTorch, which can be trained: the only place that imports torch. What is here is loaded when it
is asked for."""
