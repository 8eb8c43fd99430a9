"""Files are safe: whatever happens while a project is written, the old one or the new one is there, and what is the
user's is there too."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mote.base import files
from mote.base.errors import MoteError
from mote.base.files import MANIFEST, temporary_folder, write_file, write_folder
from mote.base.stopping import StoppedError, stopping
from tests.helpers.support import needs

OLD = {"model.c": "old", "model.h": "old", "old_constants.h": "old", "part/a.h": "old"}
NEW = {"model.c": "new", "model.h": "new", "new_constants.h": "new", "part/b.h": "new"}
USERS = {"notes.txt": "mine", "build/cache/object.o": "built"}
MAKING = {"os.mkdir", "os.link", "os.rename", "os.symlink", "os.chmod"}
"""Calls that a full disk makes fail, as audit events; and opening a file to write it."""
AUDITED = "test.called"
"""The audit event of functions that have none of their own."""
CHANGING = {*MAKING, "os.remove", "os.rmdir"}
"""All calls that change folders: what a kill leaves is what one of them finds."""


def needs_locks() -> None:
    if sys.platform == "win32":
        pytest.skip("folders cannot be locked")


def texts(folder: Path) -> dict[str, str]:
    return {str(p.relative_to(folder)): p.read_text() for p in sorted(folder.rglob("*")) if p.is_file()}


def generated(folder: Path) -> dict[str, str]:
    """What is there without the user's files; those must all be there."""
    found = texts(folder)
    assert {name: found.pop(name) for name in USERS} == USERS
    return found


def complete(files_: dict[str, str], tmp_path: Path) -> dict[str, str]:
    """Generated files with their manifest."""
    write_folder(str(tmp_path / "complete"), files_)
    return texts(tmp_path / "complete")


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A project that Mote wrote, with files of the user's in it, alone in a folder."""
    folder = tmp_path / "work" / "out"
    write_folder(str(folder), OLD)
    for name, text in USERS.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def in_a_child(act: Callable[[], object], calls: set[str], disturb: Callable[[], None], number: int) -> int:
    """Do something in a process of its own, of whose calls the one with that number is disturbed. Its exit status: 0
    where there are not so many calls, 1 where an error was said, 3 where it went on."""
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    count = 0

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal count
        if event in calls or (event == "open" and set(str(arguments[1])) & set("wx")):
            count += 1
            if count == number:
                disturb()

    sys.addaudithook(hook)
    try:
        act()
    except MoteError:
        os._exit(1)
    except BaseException:
        os._exit(2)
    os._exit(0 if count < number else 3)


def kill() -> None:
    os._exit(9)


def fail() -> None:
    raise OSError(28, "No space left on device")


def audited(function: Callable[..., object]) -> Callable[..., object]:
    """A function that is one of the calls that `in_a_child` counts, before it and after it."""

    def call(*arguments: object, **named: object) -> object:
        sys.audit(AUDITED)
        found = function(*arguments, **named)
        sys.audit(AUDITED)
        return found

    return call


def test_a_kill_at_any_call_leaves_the_old_or_the_new(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Also just before and after folders are exchanged, files are written to the disk, and folders are locked."""
    for name in ("_exchange", "_sync", "_lock"):
        monkeypatch.setattr(files, name, audited(getattr(files, name)))
    old, new = complete(OLD, tmp_path), complete(NEW, tmp_path)
    seen, left = set(), 0
    for number in range(1, 500):
        write_folder(str(place), OLD)
        assert list(place.parent.iterdir()) == [place], "what the run before has left is removed"
        status = in_a_child(lambda: write_folder(str(place), NEW), {*CHANGING, AUDITED}, kill, number)
        left += list(place.parent.iterdir()) != [place]
        found = generated(place)
        assert found in (old, new), f"call {number} leaves a mixture: {found}"
        seen.add("new" if found == new else "old")
        assert not list(place.parent.glob(f".out.mote-*/{files.MOVED}")), (
            "the next run would put back what was replaced"
        )
        if status == 0:
            break
        assert status == 9
    assert number > 45 and seen == {"old", "new"} and left > 30


def test_hidden_folders_of_others_stay(place: Path) -> None:
    """Those of a run that has not ended, and what only looks like one."""
    work = place.parent
    assert files._prefix(work / ("a" * 60 + "b")) != files._prefix(work / ("a" * 60 + "c"))
    for name in (".out.mote-notes", ".out.mote-123456789", ".other.mote-12345678"):
        (work / name / files.NEW).mkdir(parents=True)
    (work / ".out.mote-12345678").mkdir()
    (work / ".out.mote-12345678" / "mine.txt").write_text("mine")
    (work / ".out.mote-abcdef01").symlink_to(work / ".out.mote-notes")
    (work / ".out.mote-abcdef02").write_text("mine")
    before = set(work.iterdir())
    for spent in ("abcdef03", "abcdef04"):
        (work / f".out.mote-{spent}" / files.SPENT).mkdir(parents=True)
        (work / f".out.mote-{spent}" / files.SPENT / f"late-{spent}.txt").write_text("mine")
    with files._hidden(place) as running:
        (running / files.NEW).mkdir()
        write_folder(str(place), NEW)
        assert set(work.iterdir()) == {*before, running}
    assert set(work.iterdir()) == before
    assert {"late-abcdef03.txt", "late-abcdef04.txt"} <= set(texts(place)), "put there while the project was written"


def test_a_kill_between_two_renames_is_mended(place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where folders cannot be exchanged there is a moment without any: the next run puts the old one back."""
    monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    old, new = complete(OLD, tmp_path), complete(NEW, tmp_path)
    gaps = 0
    for number in range(1, 500):
        write_folder(str(place), OLD)
        status = in_a_child(lambda: write_folder(str(place), NEW), CHANGING, kill, number)
        hidden = [path.name for path in place.parent.iterdir() if path != place]
        assert len(hidden) <= 1, "the next run removes what one leaves"
        if not place.exists():
            gaps += 1
            (moved,) = place.parent.glob(f".out.mote-*/{files.MOVED}")
            assert generated(moved) == old
        else:
            assert generated(place) in (old, new)
        if status == 0:
            break
    assert gaps == 1


@pytest.mark.quick_cases(1)
@pytest.mark.parametrize("exchange", [True, False])
def test_a_failure_at_any_call_leaves_nothing_behind(
    place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    """One call fails, as it would on a full disk: an error is said, and nothing else is there than before."""
    if not exchange:
        monkeypatch.setattr(files, "_exchange", lambda one, other: False)
    old, new = complete(OLD, tmp_path), complete(NEW, tmp_path)
    for number in range(1, 500):
        write_folder(str(place), OLD)
        status = in_a_child(lambda: write_folder(str(place), NEW), MAKING, fail, number)
        assert generated(place) in (old, new) and status in (0, 1, 3)
        assert list(place.parent.iterdir()) == [place], f"call {number} leaves a temporary folder"
        if status == 0:
            break
    assert number > 10


def test_files_of_an_earlier_run_are_replaced_or_removed(place: Path, tmp_path: Path) -> None:
    assert write_folder(str(place), NEW) == []
    assert generated(place) == complete(NEW, tmp_path)
    assert list(place.parent.iterdir()) == [place]


DEEP = {"a.c": "1", "in/b.c": "2", "in/deeper/c.c": "3"}


def test_files_in_folders(tmp_path: Path) -> None:
    """They are replaced and removed as others are, and what is the user's beside them stays."""
    out = tmp_path / "out"
    write_folder(str(out), DEEP)
    assert write_folder(str(out), DEEP) == []
    (out / "in" / "mine.txt").write_text("mine")
    (out / "in" / "deeper" / "c.c").write_text("changed")
    with pytest.raises(MoteError, match=r"in/deeper/c\.c was changed"):
        write_folder(str(out), DEEP)
    (out / "in" / "deeper" / "c.c").write_text("3")
    write_folder(str(out), {"a.c": "1", "other/b.c": "4"})
    assert set(texts(out)) == {"a.c", "in/mine.txt", "other/b.c", MANIFEST}
    assert not (out / "in" / "deeper").exists()
    (out / "in" / "mine.txt").unlink()
    write_folder(str(out), {"a.c": "1"})
    assert set(texts(out)) == {"a.c", MANIFEST} and not (out / "other").exists()


@pytest.mark.parametrize("link", [False, True])
def test_what_is_no_folder_stands_in_the_way(link: bool, tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.mkdir()
    (tmp_path / "elsewhere").mkdir()
    (out / "in").symlink_to(tmp_path / "elsewhere") if link else (out / "in").write_text("mine")
    with pytest.raises(MoteError, match="is no folder"):
        write_folder(str(out), DEEP)
    assert not texts(tmp_path / "elsewhere")


@pytest.mark.parametrize("name", ["../a.c", "/a.c", "in/../../a.c", "in/..", "./a.c", "in//a.c"])
def test_a_manifest_names_nothing_outside(name: str, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_folder(str(out), DEEP)
    manifest = (out / MANIFEST).read_text()
    (out / MANIFEST).write_text(f"{manifest}{'0' * 64}  {name}\n")
    with pytest.raises(MoteError, match="is damaged"):
        write_folder(str(out), DEEP)


def test_the_manifest_is_that_of_sha256sum(place: Path) -> None:
    needs("sha256sum")
    write_folder(str(place), NEW)
    done = subprocess.run(["sha256sum", "-c", MANIFEST], cwd=place, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.count("OK") == len(NEW)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("model.c", "model.c was changed since Mote generated it"),
        ("old_constants.h", "old_constants.h was changed since Mote generated it"),
        ("new_constants.h", "new_constants.h is not Mote's"),
        (MANIFEST, "is damaged"),
    ],
)
def test_what_is_the_users_is_refused_by_name(place: Path, name: str, says: str) -> None:
    (place / name).write_text("mine")
    before = texts(place)
    with pytest.raises(MoteError, match=says) as error:
        write_folder(str(place), NEW)
    assert "--force" in error.value.remedy and texts(place) == before
    lost = write_folder(str(place), NEW, force=True)
    assert lost == ([name] if name != MANIFEST else ["model.c", "model.h"])
    assert {k: v for k, v in texts(place).items() if k in NEW} == NEW
    assert ((place / name).exists()) == (name != "old_constants.h")


def test_a_file_that_is_as_it_would_be_is_no_obstacle(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "model.c").write_text("new")
    assert write_folder(str(tmp_path / "out"), NEW) == []


def test_links_and_modes_stay(place: Path) -> None:
    (place / "link").symlink_to("notes.txt")
    (place / "elsewhere").symlink_to("/")
    (place / "notes.txt").chmod(0o600)
    place.chmod(0o750)
    write_folder(str(place), NEW)
    assert (place / "link").readlink() == Path("notes.txt") and (place / "elsewhere").is_symlink()
    assert (place / "notes.txt").stat().st_mode & 0o777 == 0o600 and place.stat().st_mode & 0o777 == 0o750


def test_a_link_or_folder_in_the_way(place: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (place / "new_constants.h").symlink_to(tmp_path / "precious")
    with pytest.raises(MoteError, match=r"new_constants\.h is not Mote's"):
        write_folder(str(place), NEW)
    write_folder(str(place), NEW, force=True)
    assert (tmp_path / "precious").read_text() == "mine" and not (place / "new_constants.h").is_symlink()
    (place / "other.h").mkdir()
    with pytest.raises(MoteError, match="is a folder"):
        write_folder(str(place), {**NEW, "other.h": ""}, force=True)


def test_what_comes_while_it_is_written_is_not_lost(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that runs in the folder writes on, in the folder that is being replaced."""
    exchange = files._exchange

    def late(one: Path, other: Path) -> bool:
        (place / "late.o").write_text("late")
        (place / "build" / "later.o").write_text("later")
        return exchange(one, other)

    monkeypatch.setattr(files, "_exchange", late)
    write_folder(str(place), NEW)
    assert (place / "late.o").read_text() == "late" and (place / "build" / "later.o").read_text() == "later"


WRITER = """\
import sys
from mote.base.files import write_folder
for turn in range(10):
    own = {f"model{sys.argv[2]}.c": f"{sys.argv[2]} {turn}", "model.h": sys.argv[2], f"part/{turn}.h": sys.argv[2]}
    write_folder(sys.argv[1], own)
"""


def test_of_several_writers_one_has_written_all(place: Path, tmp_path: Path) -> None:
    needs_locks()
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(place), str(n)]) for n in range(4)]
    assert [writer.wait() for writer in writers] == [0] * 4
    found = generated(place)
    (last,) = [n for n in range(4) if found["model.h"] == str(n)]
    wanted = {f"model{last}.c": f"{last} 9", "model.h": str(last), "part/9.h": str(last)}
    assert found == complete(wanted, tmp_path)


def test_places_that_cannot_be_replaced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "here" / "sub").mkdir(parents=True)
    monkeypatch.chdir(tmp_path / "here" / "sub")
    (tmp_path / "file").write_text("mine")
    for folder, says in (
        ("", "is empty"),
        (".", "the current folder"),
        ("..", "the current folder"),
        ("/", "a mount point"),
        (str(tmp_path / "file"), "is a file"),
        (str(tmp_path / "file" / "out"), "cannot be written"),
    ):
        with pytest.raises(MoteError, match=says):
            write_folder(folder, NEW)
    assert texts(tmp_path) == {"file": "mine"}


def test_a_folder_that_cannot_be_moved(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As in a container, where it comes from the image."""

    def immovable(one: Path, other: Path) -> bool:
        raise OSError(18, "Invalid cross-device link")

    monkeypatch.setattr(files, "_exchange", immovable)
    before = texts(place)
    with pytest.raises(MoteError, match=r"cannot be replaced as a whole .*\n.*write to a new folder"):
        write_folder(str(place), NEW)
    assert texts(place) == before and list(place.parent.iterdir()) == [place]


def test_a_failure_leaves_no_parents(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "fill", lambda folder, texts: fail())
    with pytest.raises(MoteError, match="No space left"):
        write_folder(str(tmp_path / "a" / "b" / "out"), NEW)
    assert list(tmp_path.iterdir()) == []


def test_a_named_file_is_replaced_by_its_kind_only(tmp_path: Path) -> None:
    path = tmp_path / "map.svg"
    write_file(str(path), b"<svg 1", b"<svg")
    write_file(str(path), b"<svg 2", b"<svg")
    assert path.read_bytes() == b"<svg 2"
    (tmp_path / "model.tflite").write_text("a model")
    with pytest.raises(MoteError, match="of another kind"):
        write_file(str(tmp_path / "model.tflite"), b"<svg", b"<svg")
    with pytest.raises(MoteError, match="is empty"):
        write_file("", b"<svg", b"<svg")
    with pytest.raises(MoteError, match="Is a directory"):
        write_file(str(tmp_path), b"<svg", b"<svg")
    write_file("/dev/null", b"<svg", b"<svg")
    assert Path("/dev/null").is_char_device() and sorted(texts(tmp_path)) == ["map.svg", "model.tflite"]


def test_a_full_temporary_folder_is_said() -> None:
    with pytest.raises(MoteError, match=r"temporary folder .*No space left on device.*\n.*TMPDIR"), temporary_folder():
        fail()
    with pytest.raises(FileNotFoundError), temporary_folder():
        raise FileNotFoundError("a bug")


def test_a_signal_while_a_project_is_written(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(files, "_carry", lambda *_: signal.raise_signal(signal.SIGTERM))
    before = texts(place)
    with pytest.raises(StoppedError), stopping():
        write_folder(str(place), NEW)
    assert texts(place) == before and list(place.parent.iterdir()) == [place]
