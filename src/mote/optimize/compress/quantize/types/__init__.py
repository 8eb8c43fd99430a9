"""Types and scales of tensors: precisions, and the rules that LiteRT has for them."""
