"""Graphs as PyTorch modules: trainable float32 layers, and bit-exact integer arithmetic of LiteRT. Modules here import
torch and are loaded on demand."""
