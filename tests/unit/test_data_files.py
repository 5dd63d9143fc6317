"""Data that were fetched are found by the benchmark's name; a real server on this machine serves them."""

from __future__ import annotations

import io
import json

import pytest

from lumos_queue.benchmarks.registry import open_benchmark, open_source
from lumos_queue.cli.main import main
from lumos_queue.downloads import catalogue
from lumos_queue.downloads.catalogue import FILES, PublicFile
from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings
from lumos_queue.submission.data_files import MissingData, find_data
from tests.unit.test_downloads import Server

ROW = json.dumps({"question": "Ida has 2 tarts and buys 3. How many?", "answer": "2 + 3 = <<2+3=5>>5\n#### 5"}) + "\n"


@pytest.fixture
def lumos(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    monkeypatch.setattr("lumos_queue.cli.output.as_json", False)

    def run(*arguments: str):
        code = main(arguments)
        out, err = capsys.readouterr()
        return code, out, err

    return run


class Person(io.StringIO):
    """At a terminal, with these words to type."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def served(monkeypatch):
    """Both files of gsm8k are to be had from a server here, which is given."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    server = Server()
    server.body = ROW.encode()
    url = f"http://127.0.0.1:{server.server.server_port}/file"
    files = tuple(PublicFile(f"gsm8k/{split}.jsonl", url, "MIT", splits=(split,)) for split in ("train", "test"))
    monkeypatch.setattr(catalogue, "FILES", files)
    yield server
    server.close()


@pytest.fixture
def fetched(lumos, served):
    assert lumos("data", "get", "gsm8k")[0] == 0


CONVERT = ("convert", "gsm8k", "--deterministic")


def test_fetched_files_are_read_without_naming_them(lumos, fetched, tmp_path):
    code, _, err = lumos(*CONVERT, "--json")
    assert code == 0 and f"data: '{tmp_path / 'home/data/gsm8k/train.jsonl'}'" in err
    code, _, err = lumos(*CONVERT, "--split", "test", "--json")
    assert code == 0 and "gsm8k/test.jsonl'" in err
    agent = [f"--{role}=scripted:{tmp_path / 'agent.json'}" for role in ("planner", "grounder")]
    (tmp_path / "agent.json").write_text('[{"contains": "", "reply": "R1 = Calculator(2 + 3)"}]')
    code, out, err = lumos("evaluate", "gsm8k", *agent, "--formulation", "one-pass", "--json")
    assert "gsm8k/test.jsonl'" in err and json.loads(out.splitlines()[-1])["n"] == 1


@pytest.mark.parametrize("arguments", [CONVERT, (*CONVERT, "--data", "nope.jsonl"), ("evaluate", "gsm8k")])
def test_a_missing_file_is_one_line_with_the_command_that_gets_it(lumos, arguments, tmp_path):
    agent = () if arguments[0] == "convert" else ("--agent", "starter-scratch", "--formulation", "one-pass")
    code, out, err = lumos(*arguments, *agent)
    assert code == 2 and not out and len(err.splitlines()) == 1 and "lumos data get gsm8k" in err
    assert not (tmp_path / "home").exists()


def test_the_line_names_the_file_of_the_split(tmp_path):
    with pytest.raises(
        MissingData, match=r"^There is no data of 'gsm8k' here\. Fetch it with: lumos data get gsm8k/test"
    ):
        find_data(open_benchmark("gsm8k"), None, "test", Settings(home=tmp_path), print)


EVALUATE = ("evaluate", "gsm8k", "--limit", "1", "--formulation", "one-pass")


@pytest.mark.parametrize("command", [(*CONVERT,), EVALUATE])
@pytest.mark.parametrize(
    ("answer", "wanted"), [("y\n", True), ("YES\n", True), ("n\n", False), ("\n", False), ("", False)]
)
def test_at_a_terminal_it_is_fetched_after_a_yes(lumos, served, monkeypatch, tmp_path, command, answer, wanted):
    agent = [f"--{role}=scripted:{tmp_path / 'agent.json'}" for role in ("planner", "grounder")]
    (tmp_path / "agent.json").write_text('[{"contains": "", "reply": "R1 = Calculator(2 + 3)"}]')
    said = Person()
    monkeypatch.setattr("sys.stdin", Person(answer))
    monkeypatch.setattr("sys.stderr", said)
    code, _, _ = lumos(*command, *(agent if command is EVALUATE else ()))
    split = "test" if command is EVALUATE else "train"
    assert f"lumos data get gsm8k/{split}.jsonl (licence MIT)\nFetch it now? [y/N]" in said.getvalue()
    assert (code, len(served.asked)) == ((0, 1) if wanted else (2, 0))
    assert [path.name for path in tmp_path.glob("home/data/gsm8k/*.jsonl")] == ([f"{split}.jsonl"] if wanted else [])


def test_a_program_is_not_asked(lumos, served, monkeypatch):
    monkeypatch.setattr("sys.stdin", Person("y\n"))
    monkeypatch.setattr("sys.stderr", said := Person())
    assert lumos(*CONVERT, "--json")[0] == 2 and not served.asked and "[y/N]" not in said.getvalue()


def test_a_split_that_no_public_file_has_is_told_with_those_there_are(tmp_path):
    with pytest.raises(SpecError, match=r"split 'test'.*hotpot_train_v1.1.json \(train\), .*distractor_v1.json \(dev"):
        find_data(open_benchmark("hotpotqa"), None, "test", Settings(home=tmp_path), print)


def test_benchmarks_without_public_files_or_need_of_them_are_left_to_themselves(tmp_path):
    for name in ("musique", "wordmath"):
        assert find_data(open_benchmark(name), None, "test", Settings(home=tmp_path), print) is None
        assert find_data(open_benchmark(name), tmp_path / "x", "test", Settings(home=tmp_path), print) == tmp_path / "x"


def test_every_split_of_the_catalogue_is_one_of_its_benchmark():
    for file in FILES:
        benchmark = open_source(file.name.partition("/")[0])
        assert set(file.splits) <= {*benchmark.splits, *benchmark.teaching.splits}, file.name
