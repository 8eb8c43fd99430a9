"""Budgets that include what is known only after a build (code size): a loop that plans again with a larger reserve."""
