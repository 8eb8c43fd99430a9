"""External generators: back ends that compute regions of a graph with their own C code or on an accelerator."""
