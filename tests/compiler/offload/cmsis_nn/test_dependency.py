"""Packages of models that call CMSIS-NN: they depend on it by its name, hold no path of this machine, and build; two
models in one firmware link."""

from __future__ import annotations

import json
import os
import re
import subprocess
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

import pytest

import mote
from mote.base.errors import MoteError
from mote.compiler.compiled import Compiled
from mote.compiler.offload.cmsis_nn.files import PATH
from mote.compiler.package.packagers import PACKAGERS
from tests.compiler.offload.cmsis_nn.conftest import LIBRARY
from tests.helpers.network import Net
from tests.helpers.support import needs

DEPEND = ("make", "cmake", "zephyr", "cmsis-pack", "mlf")
"""Packages that depend on CMSIS-NN."""
QUIET = "-std=gnu99 -Os -w"


@cache
def tiny() -> bytes:
    """A convolution, and a layer whose sums are rounded once."""
    net = Net()
    return net.finish(net.fully_connected(net.flat(net.conv(net.input(1, 4, 4, 4), 8)), 4))


def made(name: str = "tiny", target: str = "host") -> Compiled:
    compiled = mote.compile(tiny(), target=target, backend="cmsis-nn", name=name)
    assert [str(step.kernel.name) for step in compiled.plan.steps] == ["cmsis-nn", "cmsis-nn"]
    return compiled


def built(command: list[str], folder: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != PATH}
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, env=environment | variables)


@pytest.mark.parametrize("kind", DEPEND)
def test_no_path_of_this_machine(kind: str, standin: Path, tmp_path: Path) -> None:
    made(target="cortex-m4").write(tmp_path, [kind])
    texts = {path: path.read_text(encoding="utf-8") for path in tmp_path.rglob("*") if path.is_file()}
    assert not [str(path) for path, text in texts.items() if str(standin) in text]
    assert any("CMSIS-NN" in text or "CMSIS_NN" in text for text in texts.values())


@pytest.mark.parametrize("kind", sorted({*PACKAGERS} - {*DEPEND}))
def test_ecosystems_that_do_not_have_it_refuse(kind: str, standin: Path, tmp_path: Path) -> None:
    options = dict(PACKAGERS[kind].settings)
    compiled = mote.compile(tiny(), backend="cmsis-nn", name="tiny", **options)
    with pytest.raises(MoteError, match="tiny calls functions of CMSIS-NN, which it has no name for") as error:
        compiled.write(tmp_path / "out", [kind])
    assert "cmake or make" in error.value.remedy and not (tmp_path / "out").exists()


def test_the_makefile_takes_the_folder_as_a_variable(standin: Path, tmp_path: Path) -> None:
    needs("cc", "make", "ar")
    made().write(tmp_path, ["make"])
    before = sorted(standin.rglob("*"))
    absent = built(["make", "-s"], tmp_path)
    assert absent.returncode and f"set {PATH} to its folder" in absent.stderr
    assert built(["make", "-s", "clean"], tmp_path).returncode == 0
    done = built(["make", "-s", f"CFLAGS={QUIET}", "test", "libtiny.a"], tmp_path, **{PATH: str(standin)})
    assert done.returncode == 0, done.stderr
    assert sorted(standin.rglob("*")) == before


TOP = """\
cmake_minimum_required(VERSION 3.13)
project(top C)
{library}
add_subdirectory(alpha)
add_subdirectory(beta)
add_executable(top main.c)
target_link_libraries(top alpha beta)
"""
THEIRS = f"""\
file(GLOB_RECURSE FILES {LIBRARY}/Source/*.c)
add_library(cmsis-nn STATIC ${{FILES}})
target_include_directories(cmsis-nn PUBLIC {LIBRARY}/Include)
"""
MAIN = """\
#include "alpha.h"
#include "beta.h"

int main(void) {
    alpha_init();
    beta_init();
    return alpha_run() != MOTE_OK || beta_run() != MOTE_OK;
}
"""


@pytest.mark.parametrize("theirs", [False, True], ids=["variable", "target"])
def test_two_models_in_one_firmware(theirs: bool, standin: Path, tmp_path: Path) -> None:
    """Each has its own copy of the functions that round once; the others are there once."""
    needs("cc", "cmake")
    for name in ("alpha", "beta"):
        made(name).write(tmp_path / name, ["cmake"])
    assert (tmp_path / "alpha" / "alpha_cmsis_nn_once_fully_connected.c").is_file()
    (tmp_path / "CMakeLists.txt").write_text(TOP.format(library=THEIRS if theirs else ""), encoding="utf-8")
    (tmp_path / "main.c").write_text(MAIN, encoding="utf-8")
    variable = {} if theirs else {PATH: str(standin)}
    for command in (["cmake", "-S", ".", "-B", "build"], ["cmake", "--build", "build"], ["build/top"]):
        done = built(command, tmp_path, **variable)
        assert done.returncode == 0, done.stdout + done.stderr


def test_cmake_says_what_is_missing(standin: Path, tmp_path: Path) -> None:
    needs("cc", "cmake")
    made().write(tmp_path, ["cmake"])
    done = built(["cmake", "-S", ".", "-B", "build"], tmp_path)
    assert done.returncode and f"set {PATH} to its" in " ".join(done.stderr.split())


def test_zephyr_selects_its_own(standin: Path, tmp_path: Path) -> None:
    made(target="cortex-m4").write(tmp_path, ["zephyr"])
    selected = re.findall(r"select (CMSIS\w+)", (tmp_path / "zephyr" / "Kconfig").read_text(encoding="utf-8"))
    assert selected == ["CMSIS_NN", "CMSIS_NN_CONVOLUTION"]
    listed = (tmp_path / "zephyr" / "CMakeLists.txt").read_text(encoding="utf-8")
    assert "tiny_cmsis_nn_once_fully_connected.c" in listed and PATH not in listed


def test_a_pack_requires_the_component(standin: Path, tmp_path: Path) -> None:
    made(target="cortex-m4").write(tmp_path, ["cmsis-pack"])
    root = ElementTree.parse(tmp_path / "Mote.tiny.pdsc").getroot()
    (pack,) = root.iterfind("requirements/packages/package")
    assert pack.attrib == {"vendor": "ARM", "name": "CMSIS-NN", "version": "7.0.0"}
    required = [part.attrib for part in root.iterfind("conditions/condition[@id='core']/require")]
    assert required[-1] == {"Cclass": "CMSIS", "Cgroup": "NN Lib"}
    example = tmp_path / "examples" / "tiny"
    yaml = pytest.importorskip("yaml")
    solution = yaml.safe_load((example / "tiny.csolution.yml").read_text(encoding="utf-8"))["solution"]
    project = yaml.safe_load((example / "tiny.cproject.yml").read_text(encoding="utf-8"))["project"]
    assert {"pack": "ARM::CMSIS-NN@>=7.0.0"} in solution["packs"]
    assert {"component": "ARM::CMSIS:NN Lib"} in project["components"]
    sources = {file.attrib["name"] for file in root.iterfind("components/component/files/file")}
    assert "src/tiny_cmsis_nn_once_fully_connected.c" in sources


def test_the_model_library_format_names_it(standin: Path, tmp_path: Path) -> None:
    """The command of its README builds the example."""
    needs("cc", "sh")
    compiled = made()
    compiled.write(tmp_path, ["mlf"])
    metadata = json.loads((tmp_path / "metadata.json").read_text(encoding="utf-8"))
    (named,) = metadata["modules"]["tiny"]["external_dependencies"]
    assert named["short_name"] == "CMSIS-NN" and named["url_type"] == "git"
    (command,) = re.findall(r"^cc .*$", (tmp_path / "README.md").read_text(encoding="utf-8"), re.MULTILINE)
    done = built(["sh", "-c", f"{command} && example/example"], tmp_path, **{PATH: str(standin)})
    assert done.stdout.splitlines() == list(compiled.package.example.lines), done.stderr


@pytest.mark.parametrize(
    ("package", "file", "text"),
    [
        ("zephyr", "prj.conf", "CONFIG_CMSIS_NN_CONVOLUTION=y"),
        ("cmake", "CMakeLists.txt", '"${CMSIS_NN_PATH}/Source/ConvolutionFunctions/convolution.c"'),
        ("cmsis-pack", "examples/mote_agent/mote_agent.cproject.yml", "ARM::CMSIS:NN Lib"),
    ],
)
def test_agents_depend_on_it(package: str, file: str, text: str, standin: Path) -> None:
    agent = mote.agent(tiny(), target="cortex-m4", backend="cmsis-nn", package=package)
    assert text in str(agent.files[file])
    assert not any(str(standin) in str(each) for each in agent.files.values())
