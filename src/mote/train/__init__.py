"""Training float modules of PyTorch on the host: the loop, data augmentation, fine-tuning of pruned models."""
