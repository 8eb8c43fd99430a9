"""A search around a float model of the user: its widths, depth, kernels and precisions (`mote search --from`)."""
