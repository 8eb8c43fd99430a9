"""Models that learn on the device: the graph of training, and what of it fits within budgets."""
