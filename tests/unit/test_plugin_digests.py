"""A plug-in's digest covers each file that Python imports for it, and later imports are held to it."""

from __future__ import annotations

import hashlib
import importlib
import os
import py_compile
import subprocess
import sys
import zipfile
from importlib.util import cache_from_source
from pathlib import Path

import pytest

from lumos_queue.errors import PluginChanged, SpecError
from lumos_queue.util import plugins
from lumos_queue.util.plugin_files import read_code
from lumos_queue.util.plugins import TrustedModules, digest_of, load_plugin
from tests.plugin_packages import EXAMPLE, modules_of, write_files


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(plugins, "TRUSTED", TrustedModules())
    path = tmp_path / "own"
    path.mkdir()
    with modules_of(path):
        yield path


def load(name: str):
    plugins.TRUSTED.add_named(name)
    return load_plugin("endpoints", "function", name)


def plain_digest(folder: Path, *names: str) -> str:
    """The digest as it always was: of the names and contents of the files."""
    hasher = hashlib.sha256()
    for name in sorted(names):
        hasher.update(name.encode() + b"\0" + hashlib.sha256((folder / name).read_bytes()).digest())
    return hasher.hexdigest()[:16]


def test_the_digest_of_an_ordinary_package_is_that_of_its_files_as_stored_jobs_have_it(folder):
    text = "import json, lumos_queue\nfrom . import rules\nfrom mylab.inner import x\ndef a():\n    import nowhere\n"
    names = ("__init__.py", "models.py", "rules.py", "inner/__init__.py", "inner/words.json", "inner/old.py")
    write_files(folder / "mylab", dict.fromkeys(names, text))
    write_files(folder, {"mylab_neighbour.py": "", "setup.py": "import mylab", "data/rows.csv": "1", "json/a.txt": ""})
    py_compile.compile(str(folder / "mylab" / "rules.py"), cfile=str(folder / "mylab" / "rules.pyc"))  # not imported
    (folder / "data_link").symlink_to(folder / "data")
    (folder / "mylab" / "data").symlink_to(folder / "data")  # data behind a link was never read
    assert digest_of("mylab.models") == plain_digest(folder / "mylab", *names)
    write_files(folder, {"mylab_alone.py": "import json\n'mylab_neighbour'\n"})
    expected = hashlib.sha256(b"mylab_alone\0" + hashlib.sha256((folder / "mylab_alone.py").read_bytes()).digest())
    assert digest_of("mylab_alone") == expected.hexdigest()[:16]


def test_the_digest_of_the_example_is_that_of_its_files():
    package = EXAMPLE / "lumos_roman"
    names = [path.name for path in package.iterdir() if path.suffix == ".py"]
    with modules_of(EXAMPLE):
        assert digest_of("lumos_roman.benchmark") == plain_digest(package, *names)
        sys.modules.pop("lumos_roman", None)


def compile_to(path: Path, text: str) -> None:
    """Write compiled code that Python runs without looking at a source."""
    source = path.with_suffix(".txt")
    write_files(source.parent, {source.name: text})
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    py_compile.compile(str(source), cfile=str(path), doraise=True, invalidation_mode=mode)
    source.unlink()


def write_link(folder: Path) -> None:
    write_files(folder.parent / "far", {"__init__.py": "", "m.py": "x = 1\n", "deep/__init__.py": ""})
    write_files(folder, {"mylab/__init__.py": ""})
    (folder / "mylab" / "far").symlink_to(folder.parent / "far")
    for name in ("back", "again"):  # circles have an end
        (folder.parent / "far" / name).symlink_to(folder.parent / "far")


def write_zip(folder: Path, text: str = "x = 1\n") -> None:
    with zipfile.ZipFile(folder / "mylab.zip", "w") as archive:
        archive.writestr("mylab_zipped/__init__.py", "")
        archive.writestr("mylab_zipped/m.py", text)
        archive.writestr("mylab_alone.py", text)
    if str(folder / "mylab.zip") not in sys.path:
        sys.path.append(str(folder / "mylab.zip"))


LONE = {"mylab_other.py": "x = 1\n"}
CHANGES = {
    "a compiled file alone": (
        "mylab.m",
        lambda folder: (write_files(folder, {"mylab/__init__.py": ""}), compile_to(folder / "mylab/m.pyc", "x = 1")),
        lambda folder: compile_to(folder / "mylab/m.pyc", "x = 2"),
    ),
    "a package behind a link": (
        "mylab.far.m",
        write_link,
        lambda folder: write_files(folder.parent / "far", {"m.py": "x = 2\n"}),
    ),
    "a neighbour in a namespace": (
        "mylab.m",
        lambda folder: write_files(folder, {"mylab/m.py": "from mylab.b import x", "mylab/b.py": "x = 1"}),
        lambda folder: write_files(folder, {"mylab/b.py": "x = 2"}),
    ),
    "a neighbour in a namespace, by a relative import, of a package": (
        "mylab.p.m",
        lambda folder: write_files(
            folder, {"mylab/p/__init__.py": "", "mylab/p/m.py": "from ..b import x", "mylab/b.py": "x = 1"}
        ),
        lambda folder: write_files(folder, {"mylab/b.py": "x = 2"}),
    ),
    "a module beside a module": (
        "mylab_m",
        lambda folder: write_files(folder, {"mylab_m.py": "import json as j, mylab_other\nx = mylab_other.x"} | LONE),
        lambda folder: write_files(folder, {"mylab_other.py": "x = 2\n"}),
    ),
    "a module beside a package, imported by others and in a function": (
        "mylab.m",
        lambda folder: write_files(
            folder,
            {
                "mylab/__init__.py": "",
                "mylab/m.py": "from .n import read\nx = read()",
                "mylab/n.py": "def read():\n    from mylab_far.y import x\n    return x",
                "mylab_far/__init__.py": "",
                "mylab_far/y.py": "import importlib\nx = importlib.import_module('mylab_other').x",
            }
            | LONE,
        ),
        lambda folder: write_files(folder, {"mylab_other.py": "x = 2\n"}),
    ),
    "a module beside a module, named in a text": (
        "mylab_m",
        lambda folder: write_files(
            folder,
            {"mylab_m.py": "from pkgutil import resolve_name\nNAME = 'mylab_other:x'\nx = resolve_name(NAME)"} | LONE,
        ),
        lambda folder: write_files(folder, {"mylab_other.py": "x = 2\n"}),
    ),
    "a package in a zip file": ("mylab_zipped.m", write_zip, lambda folder: write_zip(folder, "x = 2\n")),
    "a module in a zip file": ("mylab_alone", write_zip, lambda folder: write_zip(folder, "x = 2\n")),
}
FRESH = """
import sys
sys.path[:0] = sys.argv[2:]
from lumos_queue.util.plugins import digest_of
import importlib
print(digest_of(sys.argv[1]), importlib.import_module(sys.argv[1]).x)
"""


def run_fresh(module: str, folder: Path) -> list[str]:
    """Digest and value of a module in a process that has imported nothing of it."""
    command = [sys.executable, "-P", "-c", FRESH, module, str(folder), str(folder / "mylab.zip")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60)
    return done.stdout.split() or [done.stderr.strip().splitlines()[-1]]


@pytest.mark.parametrize("case", CHANGES)
def test_other_code_has_another_digest(folder, case):
    module, write, change = CHANGES[case]
    write(folder)
    first = run_fresh(module, folder)
    change(folder)
    second = run_fresh(module, folder)
    assert (first[1], second[1]) == ("1", "2") and first[0] != second[0]


def test_a_cache_that_python_would_not_check_is_not_run(folder):
    write_files(folder, {"mylab/__init__.py": "", "mylab/m.py": "def x(prompt): return 'source'\n"})
    cache = Path(cache_from_source(str(folder / "mylab" / "m.py")))
    compile_to(cache, "def x(prompt): return 'cache'\n")
    assert load("mylab.m:x").value("") == "source"


LATE = "def x(prompt):\n    from mylab.late import y\n    return y\n"


@pytest.mark.parametrize("path", ["mylab/late.py", "mylab_beside.py"])
def test_a_file_that_is_changed_before_its_late_import_is_refused(folder, path):
    late = {"mylab/late.py": "from mylab_beside import y\n", "mylab_beside.py": "y = 'former'\n"}
    write_files(folder, {"mylab/__init__.py": "", "mylab/m.py": LATE} | late)
    plugin = load("mylab.m:x")
    write_files(folder, {path: "y = 'other'\n"})
    with pytest.raises(
        PluginChanged, match=rf"'.*{path}' was changed after this process took the digest of 'mylab\.m'"
    ):
        plugin.value("")
    write_files(folder, {path: late[path]})
    assert plugin.value("") == "former" and load("mylab.m:x").plugin.digest == plugin.plugin.digest


def test_a_module_that_the_digest_does_not_cover_is_refused(folder, tmp_path):
    write_files(tmp_path / "far", {"mylab_far.py": "y = 1\n", "late.py": "y = 1\n"})
    hack = f"def z(prompt):\n    import sys\n    sys.path.append({str(tmp_path / 'far')!r})\n    import mylab_far\n"
    extended = f"__path__.append({str(tmp_path / 'far')!r})\n"
    write_files(folder, {"mylab/__init__.py": extended, "mylab/m.py": LATE + hack})
    for name in ("x", "z"):
        with pytest.raises(PluginChanged, match=r"which the digest of 'mylab\.m' does not cover: import it by name"):
            load(f"mylab.m:{name}").value("")
    write_files(folder, {"mylab/new.py": ""})
    with pytest.raises(PluginChanged, match=r"'mylab\.new' is in '.*/mylab/new\.py', which the digest of"):
        importlib.import_module("mylab.new")
    assert importlib.import_module("mylab_far").y == 1  # the program itself may import what it likes


def test_what_a_program_has_imported_itself_may_import_from_anywhere_and_be_reloaded(folder, tmp_path):
    write_files(tmp_path / "far", {"mylab_far.py": "y = 'far'\n"})
    late = f"    import sys\n    sys.path.append({str(tmp_path / 'far')!r})\n    import mylab_far\n"
    write_files(folder, {"mylab_m.py": f"def x(prompt):\n{late}    return mylab_far.y\n"})
    module = importlib.import_module("mylab_m")
    assert load("mylab_m:x").value("") == "far"
    with (folder / "mylab_m.py").open("a") as file:
        file.write("def x(prompt): return 'reloaded'\n")
    os.utime(folder / "mylab_m.py", (1, 1))
    assert importlib.reload(module).x("") == "reloaded"


def test_a_plug_in_that_failed_is_imported_again_when_it_is_corrected(folder):
    write_files(
        folder, {"mylab/__init__.py": "", "mylab/helper.py": "y = 1\n", "mylab/m.py": "import mylab.helper\n1/0\n"}
    )
    with pytest.raises(SpecError, match="ZeroDivisionError"):
        load("mylab.m:x")
    first = {"mylab/m.py": "import mylab.helper\ndef x(prompt): return str(mylab.helper.y)\n"}
    write_files(folder, first | {"mylab/helper.py": "y = 22\n"})
    with pytest.raises(
        SpecError, match=r"cannot be imported: '.*/helper\.py' was changed .* start this process again\.$"
    ):
        load("mylab.m:x")
    write_files(folder, {"mylab/helper.py": "y = 1\n"})
    assert load("mylab.m:x").value("") == "1"


def test_a_program_may_import_what_failed_as_a_plug_in(folder):
    write_files(folder, {"mylab_m.py": "1/0\n"})
    with pytest.raises(SpecError, match="ZeroDivisionError"):
        load("mylab_m:x")
    write_files(folder, {"mylab_m.py": "x = 'corrected'\n"})
    assert importlib.import_module("mylab_m").x == "corrected"


def test_two_objects_of_a_module_have_the_digest_of_the_code_that_was_imported(folder):
    write_files(folder, {"mylab_m.py": "def x(prompt): ...\ndef y(prompt): ...\n"})
    before = load("mylab_m:x").plugin.digest
    write_files(folder, {"mylab_m.py": "def y(prompt): print()\n"})
    assert load("mylab_m:y").plugin.digest == before


def test_a_digest_without_files_is_refused():
    for module in ("sys", "mylab_nowhere"):
        with pytest.raises(ModuleNotFoundError):
            digest_of(module)


def test_only_what_nothing_has_installed_is_appended(folder, tmp_path):
    write_files(tmp_path / "site", {"mylab_installed.py": "", "mylab-1.dist-info/METADATA": ""})
    sys.path.append(str(tmp_path / "site"))
    source = "import json, pytest, lumos_queue, mylab_installed, mylab_other, mylab_data\n"
    write_files(folder, {"mylab_m.py": source, "json/rows.txt": "", "pytest/rows.txt": "", "mylab_data/rows.txt": ""})
    write_files(folder, LONE)
    assert set(read_code("mylab_m").files) == {str(folder / name) for name in ("mylab_m.py", "mylab_other.py")}
