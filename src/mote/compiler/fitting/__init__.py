"""Budgets that depend on what was built: the reserve of a plan, and the loop that makes it large enough."""
