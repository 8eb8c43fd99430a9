"""ONNX files: protobuf messages, tensors, schemas, functions."""
