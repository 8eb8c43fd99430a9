"""The quantizers of HGQ: fixed-point numbers whose bits are learned, for each element of a tensor or for several."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from mote.base.errors import UnsupportedNodeError
from mote.frontends.build import elementwise as e
from mote.frontends.build.builder import Builder, Value
from mote.frontends.keras.config import LayerConfig
from mote.frontends.keras.quantizers import Grid
from mote.ir.graph.tensor import Array, Shape

MOST_BITS = 32
"""Bit widths and exponents are smaller."""
SAVE_WHOLE = "save the model with model.save('net.keras'), which keeps the bit widths"
KINDS = "use a quantizer of the type kbi or kif (QuantizerConfig), and save the model again"
MODES = "use one of the overflow modes WRAP, SAT and SAT_SYM (QuantizerConfig), and save the model again"


@dataclass(frozen=True, eq=False)
class FixedPoint:
    """A quantizer: an optional sign, whole and fractional bits, which broadcast to its operand."""

    rounding: str
    overflow: str
    sign: Array
    whole: Array
    fraction: Array
    unlimited: bool
    """Whether numbers neither saturate nor wrap around: weights, whose bits follow from them."""
    scaler: float | None
    affine: tuple[float, float] | None

    @property
    def _most(self) -> Array:
        """Steps of the range above zero."""
        return np.asarray(np.exp2(np.maximum(self.whole, -self.fraction) + self.fraction), np.float32)

    @property
    def _low(self) -> Array:
        return np.asarray(self.sign * ((self.overflow == "SAT_SYM") - self._most), np.float32)

    @property
    def _steps(self) -> Array:
        """The distance of two numbers; zero where there are no bits."""
        some = self.unlimited | (self.sign + self.whole + self.fraction > 0)
        return np.asarray(np.exp2(-self.fraction) * some, np.float32)

    @property
    def grid(self) -> Grid | None:
        """The grid that it rounds to; None where it has several, or rounds and limits in other ways."""
        ends = [np.unique(x) for x in (self._steps, self._low, self._most - 1)]
        plain = self.scaler is None and self.affine is None and not self.unlimited
        if self.rounding != "RND_CONV" or self.overflow == "WRAP" or not plain or any(x.size != 1 for x in ends):
            return None
        step, low, high = (float(x[0]) for x in ends)
        return Grid(step, int(low), int(high)) if step > 0 and low < high < 1 << 24 else None

    def _check(self, shape: Shape, what: str) -> None:
        """Refuse bit widths that do not broadcast to a shape."""
        try:
            fits = np.broadcast_shapes(self.sign.shape, self.whole.shape, self.fraction.shape, shape) == shape
        except ValueError:
            fits = False
        if not fits:
            raise UnsupportedNodeError(f"bit widths of {self.whole.shape} do not fit {what} of {shape}", SAVE_WHOLE)

    def of_weights(self, x: Array) -> Array:
        """Quantized constants."""
        self._check(x.shape, "weights")
        x = x.astype(np.float32) / np.float32(1 if self.scaler is None else self.scaler)
        with np.errstate(all="ignore"):
            steps = x * np.exp2(self.fraction).astype(np.float32)
            if self.overflow != "WRAP":
                steps = np.clip(steps, self._low, self._most - 1)
            steps = OF_ARRAYS[self.rounding](steps)
            if self.overflow == "WRAP" and not self.unlimited:
                steps = (steps - self._low) % (self._most - self._low) + self._low
            made = steps * self._steps * np.float32(1 if self.scaler is None else self.scaler)
        made = made if self.affine is None else made * np.float32(self.affine[0]) + np.float32(self.affine[1])
        if not np.all(np.isfinite(made)):
            raise UnsupportedNodeError("its quantized weights are not finite")
        return np.asarray(made, np.float32)

    def of_value(self, b: Builder, x: Value) -> Value:
        """A quantized value."""
        self._check(x.shape, "a value")
        if (grid := self.grid) is not None:
            return grid.of(b, x)
        x = x if self.scaler is None else e.div(b, x, e.scalar(b, self.scaler))
        steps = e.mul(b, x, _constant(b, np.exp2(self.fraction).astype(np.float32)))
        if self.overflow != "WRAP":
            steps = e.maximum(b, steps, _constant(b, self._low))
            steps = e.minimum(b, steps, _constant(b, self._most - 1))
        steps = OF_VALUES[self.rounding](b, steps)
        if self.overflow == "WRAP" and not self.unlimited:
            steps = self._wrapped(b, steps)
        made = e.mul(b, steps, _constant(b, self._steps))
        made = made if self.scaler is None else e.scaled(b, made, self.scaler)
        return made if self.affine is None else e.scaled(b, made, *self.affine)

    def _wrapped(self, b: Builder, steps: Value) -> Value:
        """Steps that wrap around at the ends of the range."""
        low, span = self._low, self._most - self._low
        above = e.sub(b, steps, _constant(b, low)) if np.any(low) else steps
        times = e.floor(b, e.mul(b, above, _constant(b, 1 / span)))
        within = e.sub(b, above, e.mul(b, times, _constant(b, span)))
        return e.add(b, within, _constant(b, low)) if np.any(low) else within


def _constant(b: Builder, x: Array) -> Value:
    """A constant that broadcasts, as one number where all are equal."""
    x = np.asarray(x, np.float32)
    same = np.unique(x)
    return b.constant(same.reshape(()) if same.size == 1 else x)


def _away(x: Array) -> Array:
    return np.asarray(np.floor(np.abs(x) + np.float32(0.5)) * np.sign(x))


def _towards(x: Array) -> Array:
    return np.asarray(np.ceil(np.abs(x) - np.float32(0.5)) * np.sign(x))


OF_ARRAYS: Mapping[str, Callable[[Array], Array]] = {
    "RND": lambda x: np.asarray(np.floor(x + np.float32(0.5))),
    "RND_CONV": np.rint,
    "RND_INF": _away,
    "RND_MIN_INF": lambda x: np.asarray(np.ceil(x - np.float32(0.5))),
    "RND_ZERO": _towards,
    "TRN": np.floor,
    "TRN_ZERO": np.trunc,
}
"""Rounding modes, of constants."""
OF_VALUES: Mapping[str, Callable[[Builder, Value], Value]] = {
    "RND": lambda b, x: e.floor(b, e.scaled(b, x, 1.0, 0.5)),
    "RND_CONV": e.round_,
    "RND_INF": lambda b, x: e.mul(b, e.floor(b, e.scaled(b, e.abs_(b, x), 1.0, 0.5)), e.sign(b, x)),
    "RND_MIN_INF": lambda b, x: e.ceil(b, e.scaled(b, x, 1.0, -0.5)),
    "RND_ZERO": lambda b, x: e.mul(b, e.ceil(b, e.scaled(b, e.abs_(b, x), 1.0, -0.5)), e.sign(b, x)),
    "TRN": e.floor,
    "TRN_ZERO": e.truncated,
}
"""Rounding modes, of values."""


def described(layer: LayerConfig, option: str, place: str) -> FixedPoint | None:
    """The quantizer of an option, whose bits are stored under a place of the layer; None where it does nothing."""
    said = layer.child(place, layer.get(option))
    kind = str(said.options.get("q_type"))
    if kind == "dummy":
        return None
    if kind not in ("kbi", "kif"):
        raise UnsupportedNodeError(f"its quantizer {option} is of the type '{kind}'", KINDS)
    rounding = str(said.options.get("round_mode")).upper().removeprefix("S_")
    overflow = str(said.options.get("overflow_mode")).upper()
    if rounding not in OF_ARRAYS or overflow not in ("WRAP", "SAT", "SAT_SYM"):
        raise UnsupportedNodeError(f"its quantizer {option} has the modes {rounding} and {overflow}", MODES)
    wraps = overflow == "WRAP"
    learned = {"kbi": "bi", "kif": "if"}[kind]
    names = [learned.replace("i", ""), "k", "i"] if wraps else [*learned, "k"]
    bits = {name: _bits(layer, f"{place}quantizer/vars/{n}", option) for n, name in enumerate(names)}
    whole = np.rint(bits["i"])
    fraction = np.rint(bits["f"]) if kind == "kif" else np.rint(bits["b"]) - whole
    free = wraps and bool(said.options.get("is_weight")) and bool(said.options.get("trainable", True))
    scaler = None if said.get("scaler", None) is None else said.real("scaler")
    if scaler == 0:
        raise UnsupportedNodeError(f"its quantizer {option} has a scaler of 0", KINDS)
    unlimited = free and (kind == "kif" or rounding == "RND")
    return FixedPoint(rounding, overflow, bits["k"], whole, fraction, unlimited, scaler, _affine(said))


def _bits(layer: LayerConfig, path: str, option: str) -> Array:
    """Learned bit widths."""
    x = layer.weights.get(f"{layer.path}{path}")
    if x is None:
        raise UnsupportedNodeError(f"the file lacks the bit widths of its quantizer {option}", SAVE_WHOLE)
    if x.dtype.kind not in "fiub" or not np.all(np.abs(x.astype(np.float32)) < MOST_BITS):
        raise UnsupportedNodeError(f"its quantizer {option} has bit widths of {MOST_BITS} and more", KINDS)
    return np.asarray(x, np.float32)


def _affine(said: LayerConfig) -> tuple[float, float] | None:
    """A factor and an offset behind a quantizer."""
    given = said.get("affine", None)
    if given is None:
        return None
    if not isinstance(given, list) or len(given) != 2 or not all(isinstance(n, int | float) for n in given):
        raise UnsupportedNodeError("a quantizer has an affine function that is not a factor and an offset", KINDS)
    return float(given[0]), float(given[1])
