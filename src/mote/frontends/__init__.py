"""Model files in, Graph out."""
