"""QONNX, the dialect of ONNX for networks of few bits."""
