"""ONNX files as bytes: records, tensors, schemas, functions."""
