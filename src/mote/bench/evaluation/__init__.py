"""Correctness and accuracy of compiled models: verification against the reference, metrics on labelled data, noise
layer by layer."""
