"""Model compression: quantization, mixed precision, pruning and weight clustering."""
