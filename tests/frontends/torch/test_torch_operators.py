"""Every operator that Mote reads from PyTorch's programs, in NumPy and in C, against PyTorch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

from torch_operators import GROUPS, Recurrent
from torch_support import Calls, check, check_numpy, file_of

from mote.frontends.torch.ops import PARSERS
from mote.frontends.torch.program import loaded

USUAL = 9
"""`make test` has each ninth function of a group, all of them in one module; `make test-frontends` has all."""


def exported(name: str) -> bytes:
    functions, shape = GROUPS[name]
    return file_of(Calls(functions), torch.zeros(shape))


@pytest.mark.frontends
@pytest.mark.parametrize("name", GROUPS)
def test_groups_equal_pytorch(name: str) -> None:
    data = exported(name)
    check_numpy(data)
    check(data, inputs=2)


def test_some_operators_equal_pytorch() -> None:
    images = [function for functions, shape in GROUPS.values() if len(shape) == 4 for function in functions[::USUAL]]
    check(file_of(Calls(images), torch.zeros(1, 4, 6, 8)), inputs=1)


def test_recurrent_layers_equal_pytorch() -> None:
    torch.manual_seed(0)
    data = file_of(Recurrent(), torch.zeros(1, 5, 3), torch.zeros(1, 1, 4))
    check_numpy(data)
    check(data, inputs=1)


def seen() -> Iterator[str]:
    """The operators of all programs above."""
    files = [exported(name) for name in GROUPS]
    files.append(file_of(Recurrent(), torch.zeros(1, 5, 3), torch.zeros(1, 1, 4)))
    for data in files:
        yield from (str(node.target) for node in loaded(data, "", {}).nodes)


NEVER = frozenset({"aten._native_batch_norm_legit.no_stats", "aten._native_batch_norm_legit_functional.default"})
"""What is known only to be refused with a reason."""


@pytest.mark.frontends
def test_every_operator_is_tried() -> None:
    assert not set(PARSERS) - set(seen()) - NEVER
