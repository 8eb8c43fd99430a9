"""Spectra of signals: complex numbers of PyTorch, as far as real ones are made of them."""

from __future__ import annotations

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from mote.base.errors import MoteError, UnsupportedError
from tests.frontends.torch.torch_support import check, file_of, graph_of

Tensor = torch.Tensor


class Spectra(torch.nn.Module):
    """Spectrograms with frames of a power of two and of another length, as torchaudio computes them."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))
        self.register_buffer("short", torch.hann_window(10))

    def forward(self, x: Tensor) -> tuple[Tensor, ...]:
        fast = torch.stft(x.reshape(-1, 64), 16, hop_length=8, window=self.window, return_complex=True)
        power = fast.reshape(1, 2, 9, 9).abs().pow(2.0)
        odd = torch.stft(x[0], 12, 6, 10, self.short, center=False, normalized=True, return_complex=True)
        whole = torch.stft(x[0, 0], 8, 8, window=torch.ones(8), onesided=False, return_complex=True)
        line = torch.fft.rfft(x, dim=1, norm="forward")
        return power, torch.view_as_real(fast), odd.abs(), torch.view_as_real(whole), line.real, line.imag


@pytest.mark.slow
def test_spectrograms() -> None:
    compiled = check(file_of(Spectra(), torch.randn(1, 2, 64)), inputs=1, optimize="speed")
    kinds = {op.kind for op in compiled.source.ops}
    assert {"RFFT2D", "COMPLEX_ABS", "REAL", "IMAG"} <= kinds


class Phases(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.angle(torch.fft.rfft(x)[..., 1:4])


def test_phases() -> None:
    check(file_of(Phases(), torch.randn(1, 8)), inputs=1, optimize="speed")


class Products(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        z = torch.fft.rfft(x)
        return (z * z).abs()


class Unreal(torch.nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return torch.fft.rfft(x)


def test_what_stays_complex_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="of complex numbers only magnitudes"):
        graph_of(file_of(Products(), torch.randn(1, 8)))
    with pytest.raises(MoteError, match=r"has complex numbers: let the module return torch\.view_as_real of it"):
        graph_of(file_of(Unreal(), torch.randn(1, 8)))
