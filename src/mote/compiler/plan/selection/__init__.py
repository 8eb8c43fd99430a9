"""Which kernel computes which operator."""
