"""The encoding of `.tflite` files: FlatBuffers, the schema, stored constants."""
