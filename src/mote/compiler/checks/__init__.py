"""Checks of a compiled model: budgets, whose violations are errors, and advice, which is warnings."""
