"""Programs of PyTorch, as `torch.export` saves them."""

from mote.frontends.torch.reader import read

__all__ = ["read"]
