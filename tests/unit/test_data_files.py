"""Data that were fetched are found by the benchmark's name; a real server on this machine serves them."""

from __future__ import annotations

import json

import pytest

from lumos_queue.benchmarks.registry import open_benchmark, open_source
from lumos_queue.cli.main import main
from lumos_queue.downloads import catalogue
from lumos_queue.downloads.catalogue import FILES, PublicFile
from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings
from lumos_queue.submission.data_files import find_data
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


@pytest.fixture
def fetched(lumos, monkeypatch):
    """Both files of gsm8k, from a server."""
    for name in ("http_proxy", "https_proxy", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    server = Server()
    server.body = ROW.encode()
    url = f"http://127.0.0.1:{server.server.server_port}/file"
    files = tuple(PublicFile(f"gsm8k/{split}.jsonl", url, "MIT", splits=(split,)) for split in ("train", "test"))
    monkeypatch.setattr(catalogue, "FILES", files)
    assert lumos("data", "get", "gsm8k")[0] == 0
    server.close()


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
