"""The parsers of layers, by the names of their classes."""

from __future__ import annotations

from collections.abc import Mapping

from mote.frontends.keras.call import Parser
from mote.frontends.keras.layers import (
    attention,
    core,
    encoding,
    merging,
    normalization,
    qkeras,
    recurrent,
    reshaping,
    slices,
    tensorflow,
    windows,
)

LAYERS: Mapping[str, Parser] = {
    **attention.LAYERS,
    **core.LAYERS,
    **encoding.LAYERS,
    **merging.LAYERS,
    **normalization.LAYERS,
    **qkeras.LAYERS,
    **recurrent.LAYERS,
    **reshaping.LAYERS,
    **slices.LAYERS,
    **tensorflow.LAYERS,
    **windows.LAYERS,
}
