"""The parsers of layers, by the names of their classes."""

from __future__ import annotations

from collections.abc import Mapping

from mote.frontends.keras.call import Parser
from mote.frontends.keras.layers import (
    attention,
    core,
    encoding,
    hgq,
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
LIBRARIES: Mapping[str, Mapping[str, Parser]] = {"hgq": hgq.LAYERS, "keras": LAYERS, "qkeras": qkeras.LAYERS}
"""The parsers of layers by the package of their classes. Those of QKeras are among Keras's own as well: the first files
of Keras 2 do not name packages."""
