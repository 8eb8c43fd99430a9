"""Networks with seeded random weights whose activations are alive: what the model generators share.

Random weights alone would make activations die out or saturate within a few layers, and a compiler would pass
its tests on zeros. So each layer is batch-normalized, with random gains, by what it does on a calibration
batch, half of it smooth and half white noise: inputs of either kind then use much of the int8 range.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from reference_quantizer import Array, Net, convolve, convolve_depthwise, fold_batch_norm


@dataclass(frozen=True)
class RandomNet:
    """Adds layers with random weights to a `Net`, each normalized on the calibration batch.

    `together`: all channels at once instead of each by itself, for layers of which the batch has few values.
    """

    net: Net
    rng: np.random.Generator

    def conv(
        self,
        x: int,
        channels: int,
        kernel: tuple[int, int] = (1, 1),
        stride: tuple[int, int] = (1, 1),
        padding: str = "SAME",
        activation: str = "RELU",
        together: bool = False,
    ) -> int:
        values = self.net.values[x]
        weights = self._weights((channels, *kernel, values.shape[-1]))
        folded = self._normalized(weights, 0, convolve(values, weights, stride, padding), together)
        return self.net.conv(x, *folded, stride, padding, activation)

    def depthwise(
        self,
        x: int,
        kernel: tuple[int, int] = (3, 3),
        stride: tuple[int, int] = (1, 1),
        padding: str = "SAME",
        activation: str = "RELU",
    ) -> int:
        values = self.net.values[x]
        weights = self._weights((1, *kernel, values.shape[-1]))
        folded = self._normalized(weights, 3, convolve_depthwise(values, weights, stride, padding))
        return self.net.depthwise(x, *folded, stride, padding, activation)

    def fully_connected(self, x: int, units: int, activation: str = "NONE", together: bool = False) -> int:
        values = self.net.values[x]
        weights = self._weights((units, values.shape[-1]))
        folded = self._normalized(weights, 0, values @ weights.T, together)
        return self.net.fully_connected(x, *folded, activation)

    def classifier(self, x: int, classes: int) -> int:
        """The usual end of a convolutional classifier: average, fully connected layer, softmax."""
        _, height, width, channels = self.net.values[x].shape
        pooled = self.net.average_pool(x, (height, width)) if height * width > 1 else x
        logits = self.fully_connected(self.net.reshape(pooled, (-1, channels)), classes)
        return self.net.softmax(logits)

    def _weights(self, shape: tuple[int, ...]) -> Array:
        """Bell-shaped like trained weights, from uniform numbers, which every machine draws alike."""
        weights: Array = self.rng.uniform(-1.0, 1.0, (3, *shape)).sum(axis=0)
        return weights

    def _normalized(
        self, weights: Array, channel_axis: int, outputs: Array, together: bool = False
    ) -> tuple[Array, Array]:
        channels = outputs.shape[-1]
        flat = outputs.reshape(-1, channels)
        over = None if together else 0
        gamma = self.rng.uniform(0.5, 2.0, (channels,))
        beta = self.rng.uniform(-0.5, 0.5, (channels,))
        return fold_batch_norm(weights, channel_axis, flat.mean(axis=over), flat.var(axis=over), gamma, beta)


def start(name: str, seed: int, samples: int, shape: tuple[int, ...], low: float, high: float) -> RandomNet:
    """A net whose calibration batch lies in [low, high]: half of it white noise, half smooth."""
    rng = np.random.default_rng([seed, *name.encode()])
    noise = rng.uniform(0.0, 1.0, (samples, *shape))
    smooth = noise.copy()
    for axis in range(1, 1 + max(1, len(shape) - 1)):
        smooth = _smoothed(smooth, axis)
    smooth = (smooth - smooth.min()) / (smooth.max() - smooth.min())
    batch = low + (high - low) * np.concatenate([noise[: samples // 2], smooth[samples // 2 :]])
    return RandomNet(Net(name, batch, (low, high)), rng)


def _smoothed(x: Array, axis: int, passes: int = 6) -> Array:
    for _ in range(passes):
        x = (np.roll(x, 1, axis) + 2 * x + np.roll(x, -1, axis)) / 4
    return x
