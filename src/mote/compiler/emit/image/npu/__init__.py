"""Jobs of an Ethos-U in images: the kernels that run them, and the calls of its driver."""
