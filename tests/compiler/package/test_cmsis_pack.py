"""CMSIS packs: the description by the rules of the published schema, names of files, sources compiled for the core."""

from __future__ import annotations

import re
import subprocess
import xml.etree.ElementTree as ElementTree
import zipfile
from pathlib import Path

import pytest

from mote.base.errors import MoteError
from mote.compiler.line import compile
from mote.compiler.package import cmsis_pack
from mote.compiler.package.description import metadata
from mote.ui.cli import main
from tests.helpers.support import needs

DIGITS = Path(__file__).parents[3] / "models" / "digits.tflite"
NAMEABLE = re.compile(r"[\-_A-Za-z0-9]+")
CORES = {"Cortex-M0+", "Cortex-M3", "Cortex-M4", "Cortex-M7", "Cortex-M33", "Cortex-M55", "Cortex-M85"}
FILTERS = {
    "Dcore": CORES,
    "Dfpu": {"NO_FPU", "FPU", "SP_FPU", "DP_FPU"},
    "Ddsp": {"NO_DSP", "DSP"},
    "Dmve": {"NO_MVE", "MVE", "FP_MVE"},
}
"""Values that the schema lets conditions have."""
ELEMENTS = {
    "vendor", "name", "description", "url", "supportContact", "license", "licenseSets", "releases", "keywords",
    "conditions", "components", "examples",
}  # fmt: skip
REQUIRED = {"vendor", "name", "description", "url", "releases"}
CATEGORIES = {"doc", "header", "source"}


def described(core: str, *about: str) -> tuple[str, ElementTree.Element, dict[str, str | bytes]]:
    """The name of the description, the description, and all files of a pack."""
    package = compile(DIGITS, target=core).package.described(metadata(about))
    files = cmsis_pack.files(package)
    (name,) = (path for path in files if path.endswith(".pdsc"))
    return name, ElementTree.fromstring(str(files[name])), files


@pytest.mark.quick_cases(2)
@pytest.mark.parametrize("core", ["host", "cortex-m0plus", "cortex-m4", "cortex-m33", "cortex-m55"])
def test_the_description_follows_the_schema(core: str) -> None:
    name, root, files = described(core, "author=Ann Lee", "url=https://a.b/", "version=1.2.3")
    names = [child.tag for child in root]
    assert root.tag == "package" and root.attrib["schemaVersion"].startswith("1.7.")
    assert set(names) <= ELEMENTS and set(names) >= REQUIRED and len(set(names)) == len(names)
    vendor, own = root.findtext("vendor") or "", root.findtext("name") or ""
    assert NAMEABLE.fullmatch(vendor) and NAMEABLE.fullmatch(own) and name == f"{vendor}.{own}.pdsc"
    assert [release.attrib["version"] for release in root.iterfind("releases/release")] == ["1.2.3"]
    assert root.findtext("license") == "LICENSE"
    known = {condition.attrib["id"] for condition in root.iterfind("conditions/condition")}
    for condition in root.iterfind("conditions/condition"):
        for part in condition:
            assert part.tag in ("description", "accept", "require")
            for key, value in part.attrib.items():
                assert value in (known if key == "condition" else FILTERS[key])
    (component,) = root.iterfind("components/component")
    assert {"Cclass", "Cgroup", "Csub", "Cversion"} <= set(component.attrib)
    assert component.attrib.get("condition", "core") in (known or {"core"})
    assert [child.tag for child in component] == ["description", "RTE_Components_h", "files"]
    for file in component.iterfind("files/file"):
        assert file.attrib["category"] in CATEGORIES and file.attrib["name"] in files
    (example,) = root.iterfind("examples/example")
    assert [child.tag for child in example] == ["description", "project", "attributes"]
    folder = example.attrib["folder"]
    (environment,) = example.iterfind("project/environment")
    assert f"{folder}/{example.attrib['doc']}" in files
    yaml = pytest.importorskip("yaml")
    solution = yaml.safe_load(str(files[f"{folder}/{environment.attrib['load']}"]))["solution"]
    (listed,) = solution["projects"]
    project = yaml.safe_load(str(files[f"{folder}/{listed['project']}"]))["project"]
    assert f"{vendor}::Machine Learning:Mote:digits" in [c["component"] for c in project["components"]]
    assert all(f"{folder}/{file['file']}" in files for group in project["groups"] for file in group["files"])


@pytest.mark.parametrize(
    ("core", "wanted"),
    [
        ("host", []),
        ("cortex-m3", [{"Dcore": "Cortex-M3"}]),
        ("cortex-m33", [{"Dcore": "Cortex-M33", "Ddsp": "DSP"}, {"condition": "FPU"}]),
        ("cortex-m55", [{"Dcore": "Cortex-M55", "Dmve": "FP_MVE"}, {"condition": "FPU"}]),
    ],
)
def test_conditions_are_those_of_the_core(core: str, wanted: list[dict[str, str]]) -> None:
    _, root, _ = described(core)
    assert [part.attrib for part in root.iterfind("conditions/condition[@id='core']/require")] == wanted


def test_a_pack_is_a_zip_with_the_name_that_tools_want(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["compile", str(DIGITS), "-t", "cortex-m3", "--package", "cmsis-pack", "--metadata", "version=2.0.1"]
    assert main([*command, "-o", str(tmp_path / "digits.pack")]) == 1
    assert "Mote.digits.2.0.1.pack" in capsys.readouterr().err and not list(tmp_path.iterdir())
    assert main([*command, "-o", str(tmp_path / "Mote.digits.2.0.1.pack")]) == 0
    with zipfile.ZipFile(tmp_path / "Mote.digits.2.0.1.pack") as pack:
        assert {"Mote.digits.pdsc", "LICENSE", "README.md", "src/digits.c"} <= set(pack.namelist())


def test_other_cores_are_refused() -> None:
    with pytest.raises(MoteError, match="Cortex-M"):
        cmsis_pack.files(compile(DIGITS, target="rv32imc").package)


def test_sources_and_example_compile_for_the_core(tmp_path: Path) -> None:
    needs("arm-none-eabi-gcc")
    compiled = compile(DIGITS, target="cortex-m33")
    compiled.write(tmp_path, ["cmsis-pack"])
    sources = [f"src/{path}" for path in compiled.package.sources]
    flags = ["-std=c99", "-Wall", "-Wextra", "-Wconversion", "-pedantic", "-Werror", "-Isrc"]
    core = compiled.settings.target.gcc_flags
    command = ["arm-none-eabi-gcc", *core, *flags, "-c", *sources, "examples/digits/main.c"]
    subprocess.run(command, cwd=tmp_path, check=True)
