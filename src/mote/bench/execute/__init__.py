"""Every way to run a graph on the host: batches in NumPy, the generated C, the runtime, PyTorch, the formats' own
runtimes."""
