"""Checks of a compiled model: budgets, which are errors, and advice about what is legal."""
