"""On-device training: the training graph, and the choice of what learns within budgets."""
