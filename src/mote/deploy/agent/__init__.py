"""The agent: C code on a device that runs, measures and inspects a model on request of a host."""
