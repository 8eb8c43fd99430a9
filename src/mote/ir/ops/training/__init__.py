"""Operators of training: gradients that no operator of inference computes, losses, and the steps of optimizers."""
