"""`.tflite` files as bytes: FlatBuffers, the schema, stored constants."""
