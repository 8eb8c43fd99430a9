"""Training of float PyTorch modules on the host: training loop, data augmentation, fine-tuning of pruned models."""
