"""Pruning of float models: channels, weight blocks or weight clustering (docs/improve/pruning.md)."""
