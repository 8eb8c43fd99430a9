"""Operators of on-device training: gradients that no inference operator computes, losses, and optimizer steps."""
