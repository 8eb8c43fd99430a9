"""Instruction scheduling of generated assembly: other instruction orders and register allocations with equal
results."""
