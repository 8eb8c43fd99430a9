"""The order of instructions in assembly that was written for a layer: other orders and registers, the same results."""
