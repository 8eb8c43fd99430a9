"""Programs of PyTorch, as `torch.export` saves them."""
