"""`.onnx` files."""
