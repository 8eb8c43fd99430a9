"""Every operator that Mote reads from PyTorch's programs, in NumPy and in C, against PyTorch."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

import aten_operators
from mote.frontends.torch.ops import PARSERS
from mote.frontends.torch.ops.norms import TRAINING
from mote.frontends.torch.program import loaded
from tests.frontends.torch.torch_operators import GROUPS, Recurrent
from tests.frontends.torch.torch_support import Calls, check, check_numpy, file_of

USUAL = 24
"""`make test` has each 24th function of a group, all of them in one module; `make test-frontends` has all."""


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
    check(file_of(Calls(images), torch.zeros(1, 4, 6, 8)), inputs=1, sanitize=False, optimize="speed")


@pytest.mark.frontends
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


@pytest.mark.frontends
def test_every_operator_is_tried() -> None:
    assert not set(PARSERS) - set(seen()) - set(TRAINING)


def test_the_page_has_every_operator() -> None:
    assert aten_operators.PAGE.read_text(encoding="utf-8") == aten_operators.page(), "--write makes it anew"
    listed = {name for found, _, _ in aten_operators.FAMILIES.values() for name in found}
    assert listed == set(PARSERS)
