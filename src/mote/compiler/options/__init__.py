"""Parsing of option values, and records that group the keywords of functions."""
