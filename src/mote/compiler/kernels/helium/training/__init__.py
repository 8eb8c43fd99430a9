"""Layers that learn, their steps and gradients."""
