"""Training of networks in PyTorch: modules of networks, a supernet of a space, quantization-aware training."""
