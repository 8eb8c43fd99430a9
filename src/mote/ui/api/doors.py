"""Types of `mote.quantize`, `mote.search` and `mote.targets`, which are modules that can be called.

At run time `mote.quantize` is the module `mote.quantize` itself, whose call is `__call__` here; type checkers know no
modules that can be called, so that `mote/__init__.py` gives them these classes instead.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import mote.hardware.targets as room
import mote.optimize.search as evaluations
from mote.hardware.targets import Target
from mote.optimize.compress.mixed_precision.result import Mixed
from mote.optimize.compress.mixed_precision.search import mix
from mote.optimize.compress.quantize.post_training import Quantized, post_training
from mote.optimize.nas.searcher import search
from mote.ui.api.listings import targets

if TYPE_CHECKING:
    from mote.optimize.compress.quantize_aware.fine_tuner import convert, prepare, train


class TargetsModule:
    """`mote.targets()` lists cores and parts, `mote.targets.load(name)` reads one."""

    Target = Target
    load = staticmethod(room.load)
    names = staticmethod(room.names)
    __call__ = staticmethod(targets)


class QuantizeModule:
    """`mote.quantize(model, data)` quantizes after training; `mix` searches for mixed precision, `prepare`, `train` and
    `convert` are quantization-aware training."""

    Mixed = Mixed
    Quantized = Quantized
    mix = staticmethod(mix)
    post_training = staticmethod(post_training)
    __call__ = staticmethod(post_training)
    if TYPE_CHECKING:
        convert = staticmethod(convert)
        prepare = staticmethod(prepare)
        train = staticmethod(train)


class SearchModule:
    """`mote.search(data, test=...)` searches for models; `run` and `running` evaluate functions in workers, with a
    `Journal` of results, and `front` selects a Pareto front."""

    Journal = evaluations.Journal
    Runner = evaluations.Runner
    digest = staticmethod(evaluations.digest)
    front = staticmethod(evaluations.front)
    run = staticmethod(evaluations.run)
    running = staticmethod(evaluations.running)
    __call__ = staticmethod(search)
