"""Files that people, jobs and pages name: only regular ones are opened, of a bounded size, and nothing is waited for.

Whatever could hang or fill the memory runs in a child with a limit of time and memory.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from lumos_queue.errors import SpecError
from lumos_queue.util import regular_file
from lumos_queue.util.regular_file import (
    MAX_BYTES,
    UnusableFile,
    check_entries,
    open_regular,
    open_regular_text,
    read_regular,
    read_regular_text,
)

ROOT = Path(__file__).resolve().parents[2]
SECONDS = 30  #: after which a child hangs
MEMORY = 300 * 2**20  #: bytes of memory that a child may have, less than the large file


def run(code: str, *arguments: object, **options) -> str:
    """Run code in a child; return what it prints, or the line of its error."""
    limited = f"import resource, sys; resource.setrlimit(resource.RLIMIT_AS, ({MEMORY}, {MEMORY}))\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", limited, *map(str, arguments)],
        cwd=ROOT,
        text=True,
        capture_output=True,
        timeout=SECONDS,
        **options,
    )
    return done.stdout if done.returncode == 0 else done.stderr.splitlines()[-1]


READ = """
from lumos_queue.util.regular_file import read_regular
print(len(read_regular(sys.argv[1])))
"""
READ_RULES = """
from pathlib import Path
from lumos_queue.endpoints.scripted import read_rules
print(len(read_rules(Path(sys.argv[1]))))
"""


@pytest.fixture
def folder(tmp_path) -> Path:
    """A folder with something of every kind that a path can lead to."""
    folder = tmp_path / "folder"
    (folder / "inner").mkdir(parents=True)
    (folder / "file").write_bytes(b"a\r\nb\n")
    os.mkfifo(folder / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(folder / "socket"))
    (tmp_path / "secret").write_text("secret")
    (folder / "outside").symlink_to(tmp_path / "secret")
    (folder / "inside").symlink_to("file")
    with (folder / "large").open("wb") as file:
        file.truncate(400_000_000)
    return folder


@pytest.mark.parametrize("code", [READ, READ_RULES], ids=["the function", "a rules file"])
@pytest.mark.parametrize(
    ("name", "problem"),
    [
        ("pipe", "is a pipe: expected a regular file."),
        ("socket", "is a socket: expected a regular file."),
        ("inner", "is a folder: expected a regular file."),
        ("/dev/zero", "is a device: expected a regular file."),
        ("/dev/null", "is a device: expected a regular file."),
        ("/proc/self/fd/0", "is a pipe: expected a regular file."),
        ("large", "has 400.0 MB: at most 67.1 MB are read."),
    ],
)
def test_what_is_no_regular_file_of_bounded_size_is_refused_in_one_line(folder, code, name, problem):
    reading, writing = os.pipe()
    try:
        line = run(code, folder / name, stdin=reading)
    finally:
        os.close(reading)
        os.close(writing)
    assert f"'{folder / name}' {problem}" in line


def test_a_regular_file_is_read_as_open_reads_it(folder):
    with open_regular(folder / "file") as file:
        assert (file.read(), file.name) == (b"a\r\nb\n", folder / "file")
    assert read_regular(str(folder / "file")) == b"a\r\nb\n"
    assert read_regular_text(folder / "file") == (folder / "file").read_text() == "a\nb\n"
    with open_regular_text(folder / "file", newline="") as file:
        assert list(file) == ["a\r\n", "b\n"]
    assert not os.get_inheritable(open_regular(folder / "file").fileno())
    assert int(read_regular("/proc/self/stat").split()[0]) == os.getpid(), "a file whose size is not stated"
    with pytest.raises(FileNotFoundError) as caught:
        read_regular(folder / "none")
    assert caught.value.filename == str(folder / "none")
    with pytest.raises(UnusableFile, match="character of the number 0"):
        read_regular(f"{folder}\0")
    with open_regular(folder / "large") as file:
        assert file.read(3) == bytes(3), "no limit where a file is not read whole"


def test_nothing_is_left_open_of_what_is_refused(folder):
    before = os.listdir("/proc/self/fd")
    for name in ("pipe", "socket", "outside", "large", "none"):
        with pytest.raises((SpecError, OSError)):
            read_regular(folder / name, folder)
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_a_writer_of_a_pipe_that_is_refused_notices_nothing(folder):
    with pytest.raises(UnusableFile):
        read_regular(folder / "pipe")
    with pytest.raises(OSError, match="No such device or address"):  # nobody opened the other end
        os.open(folder / "pipe", os.O_WRONLY | os.O_NONBLOCK)


def test_a_link_that_leads_out_of_the_folder_is_refused(folder, tmp_path):
    assert read_regular(folder / "inside", folder) == b"a\r\nb\n"
    assert read_regular(folder / "outside") == b"secret", "where no folder is stated"
    (tmp_path / "link").symlink_to(folder)
    assert read_regular(tmp_path / "link" / "file", tmp_path / "link") == b"a\r\nb\n", "the folder itself is a link"
    (tmp_path / "folder2").mkdir()
    (tmp_path / "folder2" / "file").write_text("of a folder with a longer name")
    (folder / "neighbour").symlink_to(tmp_path / "folder2")
    for name in ("outside", "../secret", "neighbour/file"):
        with pytest.raises(UnusableFile, match="leads out of"):
            read_regular(folder / name, folder)


def test_a_file_exchanged_for_a_pipe_between_the_check_and_the_reading_is_refused(folder, monkeypatch):
    """What is open is examined: there is no moment at which another file can take its place."""
    examine = os.open

    def exchange(path, flags, *rest, **options):
        descriptor = examine(path, flags, *rest, **options)
        if str(path) == str(folder / "file"):
            (folder / "file").unlink()
            (folder / "file").symlink_to(folder / "pipe")
        return descriptor

    monkeypatch.setattr(os, "open", exchange)
    assert read_regular(folder / "file") == b"a\r\nb\n"


def test_a_file_that_grows_while_it_is_read_is_read_up_to_the_limit(folder, monkeypatch):
    read, sizes = regular_file._RegularFile.readinto, []

    def grow(file, buffer):
        with (folder / "file").open("ab") as growing:
            growing.write(bytes(100_000 if len(sizes) < 50 else 0))
        sizes.append(read(file, buffer))
        return sizes[-1]

    monkeypatch.setattr(regular_file._RegularFile, "readinto", grow)
    with pytest.raises(UnusableFile, match=r"at most 1\.0 MB are read"):
        read_regular(folder / "file", limit=2**20)
    assert sum(sizes) <= 2**20 + 2**17, "what follows the limit stays where it is"


def test_a_file_whose_size_is_not_stated_is_read_up_to_the_limit():
    assert os.stat("/proc/self/maps").st_size == 0
    with pytest.raises(UnusableFile, match="at most 10 bytes are read"):
        read_regular("/proc/self/maps", limit=10)


def test_a_file_at_the_limit_is_read(folder):
    assert len(read_regular(folder / "file", limit=5)) == 5
    with pytest.raises(UnusableFile, match="has 5 bytes: at most 4 bytes"):
        read_regular(folder / "file", limit=4)


def test_a_pipe_that_a_person_starts_the_command_with_is_read():
    code = """
from lumos_queue.util.regular_file import accept_pipe, read_regular, open_regular
accept_pipe("/dev/stdin")
with open_regular("/dev/stdin") as file:
    print(file.readline(), read_regular("/dev/fd/0"))
"""
    assert run(code, input="a\nb\n") == "b'a\\n' b''\n", "the first reader takes all that is in the pipe"


@pytest.mark.parametrize("name", ["pipe", "file", "/proc/1/fd/0", "/dev/fd/999", "link"])
def test_no_pipe_with_a_name_of_its_own_is_accepted(folder, name):
    (folder / "link").symlink_to("/dev/stdin")
    code = f"""
from lumos_queue.util.regular_file import accept_pipe, read_regular
accept_pipe(None)
accept_pipe({str(folder / name)!r})
read_regular({str(folder / "pipe")!r})
"""
    assert "is a pipe: expected a regular file." in run(code, input="")


# --- folders of models ------------------------------------------------------------------------------------------------


@pytest.fixture
def model(tmp_path) -> Path:
    """A model as the cache of Hugging Face has it: links to files beside the folder."""
    root = tmp_path / "hub" / "models--org--name"
    (root / "blobs").mkdir(parents=True)
    model = root / "snapshots" / "abc"
    (model / "unet").mkdir(parents=True)
    for number, name in enumerate(("config.json", "model.safetensors", "unet/config.json")):
        (root / "blobs" / str(number)).write_text("{}")
        (model / name).symlink_to(root / "blobs" / str(number))
    return model


def test_a_model_in_the_cache_of_hugging_face_may_link_to_its_own_files(model):
    check_entries(model)
    assert read_regular(model / "config.json", model) == b"{}"
    assert read_regular(model / "unet" / "config.json", model / "unet") == b"{}"


@pytest.mark.parametrize("name", ["config.json", "unet/config.json", "model.safetensors"])
@pytest.mark.parametrize(
    ("target", "problem"),
    [("pipe", "is a pipe"), ("socket", "is a socket"), ("secret", "leads out of"), ("other", "leads out of")],
)
def test_a_model_folder_with_something_other_than_its_files_is_refused(model, folder, name, target, problem):
    (model / name).unlink()
    other = model.parents[2] / "models--org--other"
    other.mkdir()
    (other / "other").write_text("{}")
    if target in ("pipe", "socket"):
        (folder / target).rename(model / name)
    else:
        (model / name).symlink_to(other / "other" if target == "other" else folder.parent / "secret")
    with pytest.raises(UnusableFile, match=problem):
        check_entries(model)


def test_only_what_libraries_read_whole_has_a_limit(model):
    for name in ("model-00002.safetensors", "notes.bin", ".hidden.json"):
        with (model / name).open("wb") as file:
            file.truncate(MAX_BYTES + 1)
    check_entries(model)
    with (model / "tokenizer.json").open("wb") as file:
        file.truncate(MAX_BYTES + 1)
    with pytest.raises(UnusableFile, match=r"tokenizer\.json' has 67\.1 MB: at most 67\.1 MB"):
        check_entries(model)


def test_hidden_entries_and_links_to_nothing_are_not_examined(model):
    os.mkfifo(model / ".git-socket")
    (model / "gone").symlink_to(model / "nothing")
    (model / "round").symlink_to(model / "round")
    check_entries(model)
