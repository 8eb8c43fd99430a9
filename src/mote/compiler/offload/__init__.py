"""External generators: what computes regions of a graph with C, or on an accelerator, that is not Mote's own."""
