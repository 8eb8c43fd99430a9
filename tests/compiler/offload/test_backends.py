"""Backends by name: registered, announced by installed packages, and refused with reasons."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import mote
from mote.base.errors import MoteError
from mote.compiler.kernels.contract import Refusal
from mote.compiler.offload import backends
from mote.compiler.offload.contract import Generator, Missing
from mote.hardware.targets import Target
from mote.ir.graph import Graph, Op

DIGITS = Path(__file__).parents[3] / "models" / "digits.tflite"
GOOD = """\
from mote.compiler.offload.contract import Generator


class Nothing(Generator):
    name = "claims-nothing"

    def claims(self, graph, target):
        return ()

    def build(self, region, graph, target):
        raise AssertionError
"""


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder on the path of imports; generators that were loaded from it are forgotten with the test."""
    before = dict(backends.GENERATORS), set(sys.modules)
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    backends.GENERATORS.clear()
    backends.GENERATORS.update(before[0])
    for module in set(sys.modules) - before[1]:
        if (getattr(sys.modules[module], "__file__", None) or "").startswith(str(tmp_path)):
            del sys.modules[module]


def install(site: Path, package: str, code: str, points: str) -> None:
    """Puts a package with one module and entry points on the path."""
    (site / f"{package}.py").write_text(code, encoding="utf-8")
    info = site / f"{package}-1.5.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.5\n", encoding="utf-8")
    (info / "entry_points.txt").write_text(f"[mote.generators]\n{points}\n", encoding="utf-8")


def test_a_package_announces_a_generator(site: Path) -> None:
    """It is imported when its name is asked for, once, and not before."""
    install(site, "some_nothing", GOOD, "claims-nothing = some_nothing:Nothing")
    assert "claims-nothing" in backends.known() and "some_nothing" not in sys.modules
    made = mote.compile(DIGITS, backend="mote, claims-nothing")
    assert made.settings.backend == ("mote", "claims-nothing") and made.settings.external == ("claims-nothing",)
    assert "some_nothing" in sys.modules
    assert backends.named(["claims-nothing"]) == backends.named(["mote", "claims-nothing", "claims-nothing"])
    assert made.plan == mote.compile(DIGITS).plan


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("import there_is_no_such_package", "cannot be loaded: ModuleNotFoundError: No module named 'there_is_no_such"),
        ("def wrong(:", "cannot be loaded: SyntaxError"),
        ("", "cannot be loaded: AttributeError"),
        ("Nothing = object", "gives object, which is no mote.compiler.offload.contract.Generator"),
        (GOOD.replace("claims-nothing", "other"), "gives a generator that is called 'other'"),
        (
            GOOD + "\n    def __init__(self):\n        raise OSError('no key')\n",
            "cannot be loaded: OSError: no key",
        ),
    ],
)
def test_a_broken_package_is_named(site: Path, code: str, why: str) -> None:
    install(site, "some_nothing", code, "claims-nothing = some_nothing:Nothing")
    with pytest.raises(MoteError, match=re.escape(why)) as error:
        mote.compile(DIGITS, backend=["claims-nothing"])
    assert "backend 'claims-nothing' of package some_nothing 1.5: some_nothing:Nothing" in error.value.reason
    assert mote.compile(DIGITS, backend="mote").plan == mote.compile(DIGITS).plan


def test_two_packages_of_one_name(site: Path) -> None:
    for package in ("one_nothing", "two_nothing"):
        install(site, package, GOOD, f"claims-nothing = {package}:Nothing")
    with pytest.raises(MoteError, match=r"several packages announce 'claims-nothing': .*one_nothing 1.5") as error:
        backends.named(["claims-nothing"])
    assert "two_nothing 1.5" in error.value.reason


@pytest.mark.parametrize("name", ["mote", "", "1st", "a.b", "a b", "-x", "a,b"])
def test_names_that_no_generator_may_have(name: str) -> None:
    generator = Elsewhere()
    generator.name = name
    with pytest.raises(MoteError, match="name"):
        mote.register_generator(generator)


class Elsewhere(Generator):
    """Needs a path that nobody gives, and serves one target."""

    name = "elsewhere"

    def __init__(self, missing: Missing | None = None) -> None:
        self.lacks = missing

    def missing(self) -> Missing | None:
        return self.lacks

    def serves(self, target: Target) -> bool:
        return target.name == "cortex-m0"

    def claims(self, graph: Graph, target: Target) -> tuple[()]:
        return ()

    def build(self, region: Op, graph: Graph, target: Target) -> Refusal:
        return Refusal("nothing")


@pytest.mark.usefixtures("site")
def test_one_that_cannot_be_used() -> None:
    mote.register_generator(Elsewhere(Missing("SOME_PATH is not set", "set SOME_PATH to the sources")))
    with pytest.raises(MoteError, match=r"cannot be used here: SOME_PATH is not set\n  help: set SOME_PATH"):
        mote.compile(DIGITS, backend="elsewhere")
    mote.register_generator(Elsewhere())
    with pytest.raises(MoteError, match="backend 'elsewhere' does not serve the target cortex-m4"):
        mote.compile(DIGITS, backend="elsewhere", target="cortex-m4")
    assert mote.compile(DIGITS, backend="elsewhere", target="cortex-m0").plan.steps


def test_an_empty_name() -> None:
    with pytest.raises(MoteError, match="a name is empty"):
        mote.compile(DIGITS, backend="mote,")
