"""QONNX, the dialect of ONNX for low-bit quantized networks."""
