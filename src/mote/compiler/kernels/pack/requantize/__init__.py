"""Requantization constants: int8 results from accumulators, bit for bit as the reference rounds."""
