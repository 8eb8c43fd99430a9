"""Draws plans, Pareto fronts and accuracy as text and SVG."""
