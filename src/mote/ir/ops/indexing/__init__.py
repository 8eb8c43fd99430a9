"""Gather and scatter operators, whose indices are computed at run time."""
