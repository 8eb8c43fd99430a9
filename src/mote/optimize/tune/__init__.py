"""Tuning by measurement: variants of kernels, placements and flags, chosen by what they take on a target."""
