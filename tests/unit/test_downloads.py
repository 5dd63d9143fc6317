"""Public files, from a real server on this machine: whole and as promised, or not at all."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from contextlib import closing
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from lumos_queue.cli import downloads as commands
from lumos_queue.cli import output
from lumos_queue.downloads import catalogue
from lumos_queue.downloads.cache import fetch
from lumos_queue.downloads.catalogue import FILES, PublicFile, find_files
from lumos_queue.errors import SpecError

BODY = b'{"question": "2 and 3?"}\n' * 5000
DIGEST = hashlib.sha256(BODY).hexdigest()


class Server:
    """Serves `body` at /file; other paths misbehave in the way they are named for."""

    def __init__(self):
        self.body, self.asked = BODY, []
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                server.asked.append(self.path)
                match self.path:
                    case "/file":
                        self.reply(server.body, len(server.body))
                    case "/truncated":
                        self.reply(server.body[:1000], len(server.body))
                    case "/cut":  # no length is told, so that only its size or checksum can say that it was cut
                        self.reply(server.body[:1000], None)
                    case "/moved":
                        self.redirect("/file")
                    case "/elsewhere":
                        self.redirect("file:///etc/hostname")
                    case "/round":
                        self.redirect("/round")
                    case _:
                        self.send_error(404)

            def reply(self, body, length):
                self.send_response(200)
                if length is not None:
                    self.send_header("content-length", str(length))
                self.end_headers()
                self.wfile.write(body)

            def redirect(self, where):
                self.send_response(302)
                self.send_header("location", where)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    def file(self, path="file", **values) -> PublicFile:
        return PublicFile("set/rows.jsonl", f"http://127.0.0.1:{self.server.server_port}/{path}", "MIT", **values)

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join()


@pytest.fixture
def server(monkeypatch):
    for name in ("http_proxy", "https_proxy", "all_proxy"):  # a proxy of this machine would be asked instead
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)
    with closing(Server()) as running:
        yield running


def files_in(folder):
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def test_a_file_of_known_checksum_is_downloaded_once(server, tmp_path):
    file = server.file(sha256=DIGEST, size=len(BODY))
    first, second = fetch(file, tmp_path), fetch(file, tmp_path)
    assert (first.new, first.checked, second.new) == (True, "catalogue", False)
    assert first.path.read_bytes() == BODY
    assert files_in(tmp_path) == ["set/rows.jsonl"]
    assert server.asked == ["/file"]


def test_without_a_known_checksum_the_first_download_binds_later_ones(server, tmp_path):
    file = server.file()
    assert fetch(file, tmp_path).checked == "nothing"
    record = tmp_path / "set/rows.jsonl.sha256"
    assert record.read_text() == f"{DIGEST}  rows.jsonl\n"
    assert fetch(file, tmp_path).checked == "first download"
    (tmp_path / "set/rows.jsonl").unlink()
    server.body = BODY + b"{}\n"
    with pytest.raises(SpecError, match=f"expected {DIGEST}: nothing was kept"):
        fetch(file, tmp_path)
    assert files_in(tmp_path) == ["set/rows.jsonl.sha256"]
    record.unlink()
    assert fetch(file, tmp_path).sha256 == hashlib.sha256(server.body).hexdigest()


@pytest.mark.parametrize(
    ("path", "values", "told"),
    [
        ("truncated", {}, "Cannot get 'set/rows.jsonl' from http://127.0.0.1"),
        ("truncated", {"sha256": DIGEST, "size": len(BODY)}, "Cannot get"),
        ("cut", {"size": len(BODY)}, "1,000 bytes came, expected 125,000"),
        ("cut", {"sha256": DIGEST}, f"expected {DIGEST}: nothing was kept"),
        ("file", {"sha256": "0" * 64}, f"has the sha256 {DIGEST}, expected 0000"),
        ("file", {"size": 1000}, "more than 1.0 kB"),
        ("file", {"max_bytes": 1000}, "more than 1.0 kB"),
        ("none", {}, "the server answers 404"),
        ("elsewhere", {}, "Cannot get"),
        ("round", {}, "Cannot get"),
    ],
)
def test_a_download_that_fails_leaves_nothing_and_says_what_to_do_by_hand(server, tmp_path, path, values, told):
    with pytest.raises(SpecError) as error:
        fetch(server.file(path, **values), tmp_path)
    assert told in str(error.value)
    assert f"/{path}" in str(error.value)
    assert f"put it at '{tmp_path}/set/rows.jsonl'" in str(error.value)
    assert "\n" not in str(error.value)
    assert files_in(tmp_path) == []


def test_a_download_that_failed_can_be_had_again(server, tmp_path):
    with pytest.raises(SpecError):
        fetch(server.file("truncated", sha256=DIGEST), tmp_path)
    assert fetch(server.file(sha256=DIGEST), tmp_path).new


def test_without_a_network_the_address_and_the_way_by_hand_are_told(tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))  # bound but not listening: whoever connects is refused
        file = PublicFile("set/rows.jsonl", f"http://127.0.0.1:{taken.getsockname()[1]}/file", "MIT", sha256=DIGEST)
        with pytest.raises(SpecError, match=r"Cannot get 'set/rows\.jsonl' from http://127.* By hand: download it"):
            fetch(file, tmp_path)
    assert files_in(tmp_path) == []
    (tmp_path / "set/rows.jsonl").write_bytes(BODY)
    assert fetch(file, tmp_path).checked == "catalogue"


def test_what_was_changed_afterwards_is_refused_and_left_alone(server, tmp_path):
    path = fetch(server.file(), tmp_path).path
    path.write_bytes(b"mine")
    with pytest.raises(SpecError, match="it was changed, or is another file"):
        fetch(server.file(), tmp_path)
    assert path.read_bytes() == b"mine"
    path.unlink()
    path.mkdir()
    with pytest.raises(SpecError, match="is not a file"):
        fetch(server.file(), tmp_path)


def test_a_folder_that_is_a_file_is_named_before_anything_is_asked_for(server, tmp_path):
    (tmp_path / "mine").write_text("mine")
    for folder in (tmp_path / "mine", tmp_path / "mine" / "below"):
        with pytest.raises(SpecError, match=r"mine' is a file, not a folder: .* with --to\."):
            fetch(server.file(), folder)
    assert server.asked == []


def test_a_record_that_is_none_is_named(server, tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set/rows.jsonl.sha256").write_text("not a digest")
    with pytest.raises(SpecError, match=r"rows\.jsonl\.sha256' has no sha256"):
        fetch(server.file(), tmp_path)
    assert server.asked == []


def test_redirects_are_followed_on_the_web_and_never_from_https_to_http(server, tmp_path):
    import httpx2

    from lumos_queue.downloads.fetch import _no_step_down

    assert fetch(server.file("moved", sha256=DIGEST), tmp_path).new
    assert server.asked == ["/moved", "/file"]
    _no_step_down("http://one.example/")(httpx2.Request("GET", "https://two.example/"))
    with pytest.raises(httpx2.UnsupportedProtocol, match="redirects to http://two"):
        _no_step_down("https://one.example/")(httpx2.Request("GET", "http://two.example/"))


def test_two_downloads_at_once_both_end_with_the_whole_file(server, tmp_path):
    file, failures = server.file(sha256=DIGEST), []

    def work():
        try:
            fetch(file, tmp_path)
        except Exception as error:
            failures.append(error)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert files_in(tmp_path) == ["set/rows.jsonl"]
    assert (tmp_path / "set/rows.jsonl").read_bytes() == BODY


def test_every_public_file_has_an_address_and_a_licence_and_a_place_of_its_own():
    assert len({file.name for file in FILES}) == len(FILES)
    for file in FILES:
        assert file.url.startswith(("https://", "http://"))
        assert file.licence
        assert len(file.sha256) in (0, 64)
        assert file.name.count("/") == 1
        assert ".." not in file.name


def test_a_set_is_its_files_and_an_unknown_name_lists_the_sets():
    assert [file.name for file in find_files("spider")] == ["spider/dev.json", "spider/tables.json"]
    assert [file.name for file in find_files("gsm8k/train.jsonl")] == ["gsm8k/train.jsonl"]
    with pytest.raises(SpecError, match=r"No public data set called 'nope'\. Choose one of: asdiv, gsm8k"):
        find_files("nope")


def test_the_known_checksum_is_that_of_the_published_file(shared_data):
    known = find_files("gsm8k/train.jsonl")[0]
    data = (shared_data / "gsm8k" / "train.jsonl").read_bytes()
    assert (known.sha256, known.size) == (hashlib.sha256(data).hexdigest(), len(data))


def test_the_commands_say_where_files_are_and_how_they_were_checked(server, tmp_path, monkeypatch, capsys):
    known = replace(server.file(sha256=DIGEST, size=len(BODY)), name="set/known.jsonl")
    monkeypatch.setattr(catalogue, "FILES", (known, server.file()))
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    monkeypatch.setattr(output, "as_json", False)
    commands.data_get("set")
    told = capsys.readouterr().out.splitlines()
    assert told[0] == f"{tmp_path}/data/set/known.jsonl  downloaded; its checksum is correct"
    assert "no checksum is known:" in told[1]
    monkeypatch.setattr(output, "as_json", True)
    commands.data_get("set/known.jsonl", to=tmp_path / "mine")
    got = json.loads(capsys.readouterr().out)["files"]
    assert [(one["path"], one["new"]) for one in got] == [(f"{tmp_path}/mine/set/known.jsonl", True)]
    commands.data_list()
    listed = json.loads(capsys.readouterr().out)
    assert [(one["here"], one["bytes"]) for one in listed["files"]] == [(True, len(BODY)), (True, None)]
