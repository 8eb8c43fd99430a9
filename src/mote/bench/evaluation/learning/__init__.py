"""Measures what on-device training gains, with the device's operators on the host."""
