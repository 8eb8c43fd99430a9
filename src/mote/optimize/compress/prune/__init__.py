"""Pruning of float models: channels, blocks of weights, or distinct weight values (docs/improve/pruning.md)."""
