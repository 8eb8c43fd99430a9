"""Operators with indices that are computed at run time: gather and scatter."""
