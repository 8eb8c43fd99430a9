"""Ethos-U command streams in images: the runtime's kernels that run them, and the calls of the NPU driver."""
