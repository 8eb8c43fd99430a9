"""Training in PyTorch: network modules, the supernet of a search space, quantization-aware training.

Import this package only where training begins, since it needs PyTorch."""

from mote.optimize.nas.training.fit import Examples, NetworkRecipe, evaluate, train_network
from mote.optimize.nas.training.module import NetworkModule
from mote.optimize.nas.training.quantized import QuantizedRecipe, quantize_aware
from mote.optimize.nas.training.supernet import Supernet, SupernetRecipe, calibrate, train_supernet

__all__ = [
    "Examples",
    "NetworkModule",
    "NetworkRecipe",
    "QuantizedRecipe",
    "Supernet",
    "SupernetRecipe",
    "calibrate",
    "evaluate",
    "quantize_aware",
    "train_network",
    "train_supernet",
]
