"""Training of int8 layers in integers."""
