"""Backends that are libraries of C functions: each computes one operator, with sources that the user has."""
