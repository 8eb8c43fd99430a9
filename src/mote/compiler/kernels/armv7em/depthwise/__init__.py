"""Depthwise convolutions, and the planar layout that some of them read."""
