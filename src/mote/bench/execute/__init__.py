"""Ways to run a graph on the host: batched in NumPy, as generated C, in the runtime, in PyTorch, in other formats'
runtimes."""
