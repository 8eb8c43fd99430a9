"""Types and scales of quantized tensors: precisions and LiteRT's rules."""
