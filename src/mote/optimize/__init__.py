"""Making models better: searches, tuning, training, quantization and pruning."""
