"""Operators that only copy or rearrange elements."""
