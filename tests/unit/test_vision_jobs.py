"""Images through the command line: stored by digest at submission, and shown to a real chat server byte for byte."""

from __future__ import annotations

import json

import pytest

from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.cli.main import main
from tests.fake_endpoint import FakeEndpoint, images
from tests.gold_vision import grounder, planner


@pytest.fixture
def lumos(tmp_path, monkeypatch, capsys):
    """Run a command in a home of its own; returns the JSON object it prints and what it says to people."""
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))

    def run(*arguments: str) -> tuple[dict, str]:
        assert main((*arguments, "--json")) == 0
        out, err = capsys.readouterr()
        return json.loads(out.splitlines()[-1]), err

    return run


@pytest.fixture
def cats(shared_data, tmp_path):
    """The one row of A-OKVQA whose photograph is there, its letter, and its file as options."""
    records = json.loads((shared_data / "aokvqa" / "aokvqa_v1p0_val.json").read_text())
    (record,) = (one for one in records if one["image_id"] == 39769)
    path = tmp_path / "cats.json"
    path.write_text(json.dumps([record]))
    folder = shared_data / "aokvqa" / "images"
    image = (folder / "000000039769.png").read_bytes()
    return image, "ABCD"[record["correct_choice_idx"]], ["--data", str(path), "--option", f"images={folder}"]


def played(prompt: str) -> str:
    """One server plays planner and grounder, as both say who they are asked as."""
    return planner(prompt) if "subgoal-based plan" in prompt else grounder(prompt)


def test_an_image_travels_by_digest_to_a_chat_server(lumos, cats):
    image, letter, data = cats

    def see(prompt: str) -> str:
        return letter if "Output only one letter!" in prompt else "two cats"

    with FakeEndpoint(played) as text, FakeEndpoint(see, keep_bodies=True) as eyes:
        report, _ = lumos(
            "evaluate",
            "aokvqa",
            "--split",
            "val",
            *data,
            "--planner",
            text.tgi,
            "--grounder",
            text.tgi,
            "--role",
            f"vqa={eyes.chat}",
            "--role",
            f"qa={text.tgi}",
        )
        assert eyes.count == 2
    assert report["value"] == 1.0
    assert [images(body) for body in eyes.bodies] == [[image], [image]]
    asked = eyes.bodies[1]["messages"][-1]["content"][-1]["text"]
    assert "What are the cats laying next to? We can also see that two cats. There're some choices: A." in asked


def test_captions_of_a_job_become_part_of_the_task(lumos, cats, tmp_path):
    image, letter, data = cats
    with FakeEndpoint(lambda prompt: "Two cats sleep.\nRemotes lie there.", keep_bodies=True) as eyes:
        job, _ = lumos(
            "infer", "aokvqa", "--split", "val", *data, "--formulation", "caption", "--role", f"captioner={eyes.chat}"
        )
        assert [images(body) for body in eyes.bodies] == [[image]]
    file = tmp_path / "captions.json"
    told, _ = lumos("data", "captions", job["job"], "--out", str(file))
    assert (told["captions"], told["without"]) == (1, 0)
    written = json.loads(file.read_text())
    assert written["model"] == eyes.chat and list(written["captions"].values()) == [
        "Two cats sleep. Remotes lie there."
    ]
    (task,) = open_benchmark("aokvqa").read(tmp_path / "cats.json", "val", captions=str(file))
    assert task.question.endswith(". The image shows the following contents: Two cats sleep. Remotes lie there.")
    with FakeEndpoint(played, keep_bodies=True) as text:
        with FakeEndpoint(lambda prompt: letter, keep_bodies=True) as blind:
            report, _ = lumos(
                "evaluate",
                "aokvqa",
                "--split",
                "val",
                "--data",
                str(tmp_path / "cats.json"),
                "--option",
                f"captions={file}",
                "--tool",
                "vision=caption",
                "--planner",
                text.tgi,
                "--grounder",
                text.tgi,
                "--role",
                f"vqa={blind.chat}",
                "--role",
                f"qa={text.tgi}",
            )
        assert "Task: " + task.question in text.bodies[0]["inputs"]
    assert report["value"] == 1.0
    assert [images(body) for body in blind.bodies] == [[], []]


def test_a_caption_file_is_written_of_captioning_jobs_only_and_never_over_another(lumos, cats, tmp_path, capsys):
    _, _, data = cats
    with FakeEndpoint(lambda prompt: "Two cats.") as eyes:
        job, _ = lumos(
            "infer", "aokvqa", "--split", "val", *data, "--formulation", "caption", "--role", f"captioner={eyes.chat}"
        )
        other, _ = lumos("infer", "aokvqa", "--split", "val", *data, "--formulation", "direct", "--solver", eyes.chat)
    file = tmp_path / "captions.json"
    file.write_text("mine")
    for name, why in ((job["job"], "File exists"), (other["job"], "has the formulation 'direct'")):
        assert main(("data", "captions", name, "--out", str(file))) == 2
        assert why in capsys.readouterr().err
    assert file.read_text() == "mine"


def test_rows_without_answers_can_be_inferred_on_and_not_evaluated(lumos, shared_data, capsys):
    data = ("--data", str(shared_data / "aokvqa" / "aokvqa_v1p0_test.json"), "--formulation", "direct", "--limit", "1")
    with FakeEndpoint(lambda prompt: "A") as text:
        assert main(("evaluate", "aokvqa", *data, "--solver", text.tgi)) == 2
        assert "150 rows of" in (said := capsys.readouterr().err) and "evaluate the val file, or infer only" in said
        assert text.count == 0
        report, _ = lumos("infer", "aokvqa", *data, "--solver", text.tgi)
    assert report["endings"] == {"answered": 1}


def test_an_evaluation_does_all_rows_but_the_one_with_an_empty_choice_and_says_so(lumos, cats, tmp_path):
    _, letter, data = cats
    path = tmp_path / "cats.json"
    (record,) = json.loads(path.read_text())
    spoilt = {**record, "question_id": "spoilt", "choices": [*record["choices"][:3], ""]}
    path.write_text(json.dumps([record, spoilt, {**record, "question_id": "third"}]))
    with FakeEndpoint(lambda prompt: letter) as text:
        report, said = lumos(
            "evaluate", "aokvqa", "--split", "val", *data, "--formulation", "direct", "--solver", text.tgi
        )
    assert "skipped 1 bad row of 3; the first: row 2, field 'choices[3]': an empty choice" in said
    assert (report["n"], report["value"]) == (2, 1.0)


def test_rows_without_an_image_are_told_before_the_job_runs(lumos, shared_data, tmp_path):
    with FakeEndpoint(played) as text:
        report, said = lumos(
            "evaluate",
            "aokvqa",
            "--split",
            "val",
            "--data",
            str(shared_data / "aokvqa" / "aokvqa_v1p0_val.json"),
            "--limit",
            "2",
            "--planner",
            text.tgi,
            "--grounder",
            text.tgi,
            "--role",
            f"vqa={text.chat}",
            "--role",
            f"qa={text.tgi}",
        )
    assert "845 of 845 rows have no image without --option images=DIR" in said
    assert report["value"] == 0.0
