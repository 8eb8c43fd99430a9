"""Depthwise convolutions for Armv7E-M DSP cores, and the planar (CHW within a row) layout that some of them read."""
