"""The file that rows are read from: hashed, watched, and compared with the published files."""

from __future__ import annotations

import hashlib
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace

import pytest

from lumos_queue.downloads import catalogue
from lumos_queue.downloads.cache import fetch
from lumos_queue.downloads.catalogue import FILES, PublicFile, can_verify, has_split
from lumos_queue.downloads.published_files import find_published
from lumos_queue.errors import SpecError
from lumos_queue.submission.row_file import watch_file
from lumos_queue.util.regular_file import accept_pipe


@pytest.fixture
def rows(tmp_path) -> Path:
    path = tmp_path / "rows.jsonl"
    path.write_text('{"question": "2 and 3?"}\n' * 100)
    return path


def append(path: Path) -> None:
    with path.open("a") as file:
        file.write("{}\n")


def replace(path: Path) -> None:
    copy = path.with_suffix(".new")
    copy.write_bytes(path.read_bytes())
    os.replace(copy, path)


def rewrite_with_the_old_time(path: Path) -> None:
    before = path.stat()
    with path.open("r+b") as file:
        file.write(b"[")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def test_a_file_that_stays_the_same_has_its_sha256(rows):
    with watch_file(rows) as sha256:
        rows.read_text()
    assert sha256 == hashlib.sha256(rows.read_bytes()).hexdigest()


@pytest.mark.parametrize("change", [append, replace, rewrite_with_the_old_time, Path.unlink])
def test_a_file_that_changes_while_it_is_read_is_refused_in_one_line(rows, change):
    told = r"rows.jsonl' changed while it was read: nothing was stored"
    with pytest.raises(SpecError, match=told) as refused, watch_file(rows):
        change(rows)
    assert "\n" not in str(refused.value)


def test_a_failure_of_the_reader_is_the_one_that_is_reported(rows):
    with pytest.raises(KeyError), watch_file(rows):
        append(rows)
        raise KeyError


def test_what_cannot_be_hashed_has_no_sha256(tmp_path):
    for path in (None, tmp_path, tmp_path / "missing", Path("/dev/zero")):
        with watch_file(path) as sha256:
            assert sha256 == ""


def test_nothing_is_taken_out_of_a_pipe():
    reading, writing = os.pipe()
    os.write(writing, b"row\n")
    os.close(writing)
    path = Path(f"/dev/fd/{reading}")
    accept_pipe(path)
    with watch_file(path) as sha256:
        assert sha256 == "" and os.read(reading, 10) == b"row\n"
    os.close(reading)


def test_the_catalogue_knows_files_by_their_sha256(tmp_path):
    (test,) = (file for file in FILES if file.name == "gsm8k/test.jsonl")
    assert find_published("gsm8k", test.sha256, tmp_path) == "gsm8k/test.jsonl"
    assert find_published("svamp", test.sha256, tmp_path) == "", "of another benchmark"
    assert find_published("gsm8k", "", tmp_path) == find_published("gsm8k", "0" * 64, tmp_path) == ""


def test_the_file_of_the_shared_data_is_the_published_one(shared_data, tmp_path):
    with watch_file(shared_data / "gsm8k" / "train.jsonl") as sha256:
        assert find_published("gsm8k", sha256, tmp_path) == "gsm8k/train.jsonl"
    with watch_file(shared_data / "gsm8k" / "test.jsonl") as sha256:
        assert find_published("gsm8k", sha256, tmp_path) == "", "1,019 of 1,319 rows"


def test_a_file_has_the_rows_of_its_splits_alone():
    assert has_split("gsm8k/train.jsonl", "train") and not has_split("gsm8k/train.jsonl", "test")
    assert has_split("gsm8k/test_socratic.jsonl", "test") and not has_split("gsm8k/none.jsonl", "test")
    assert can_verify("gsm8k", "test") and not can_verify("gsm8k", "dev") and not can_verify("musique", "dev")


def test_a_download_counts_and_a_file_that_was_put_there_by_hand_does_not(tmp_path, monkeypatch, served):
    monkeypatch.setattr(catalogue, "FILES", (served.file,))
    file, folder = served.file, tmp_path / "data"
    sha256 = hashlib.sha256(served.body).hexdigest()
    by_hand = folder / file.name
    by_hand.parent.mkdir(parents=True)
    by_hand.write_bytes(served.body)
    assert find_published("set", sha256, folder) == "", "nothing is recorded"
    assert fetch(file, folder).checked == "nothing" and not served.requests
    assert find_published("set", sha256, folder) == "", "nobody knows where the file is from"
    assert fetch(file, folder).checked == "first download"
    by_hand.unlink()
    assert fetch(file, folder).new and len(served.requests) == 1
    assert find_published("set", sha256, folder) == file.name
    assert fetch(file, folder).checked == "first download" and find_published("set", sha256, folder) == file.name


@pytest.fixture
def served(monkeypatch):
    """A file that a server on this machine serves, its content and the requests for it."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    body, requests = b'{"question": "2 and 3?"}\n' * 50, []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self):
            requests.append(self.path)
            self.send_response(200)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        url = f"http://127.0.0.1:{server.server_port}/file"
        yield SimpleNamespace(
            file=PublicFile("set/rows.jsonl", url, "MIT", splits=("test",)), body=body, requests=requests
        )
        server.shutdown()
        thread.join()
