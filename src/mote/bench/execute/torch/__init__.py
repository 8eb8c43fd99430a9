"""Graphs as PyTorch modules: float32 layers that can be trained, and the integer arithmetic of LiteRT, exactly. Modules
here import torch, and are loaded only when they are asked for."""
