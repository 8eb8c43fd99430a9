"""Costs of networks on a target: those of the plan that would be shipped."""
