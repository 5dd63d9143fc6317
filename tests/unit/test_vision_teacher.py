"""A teacher of rows with images: it sees them, by the bytes of the file, or the job says what stands in their place."""

from __future__ import annotations

import hashlib
import json

import pytest

from lumos_queue.cli.main import main
from lumos_queue.jobs.convert import Convert
from tests.fake_endpoint import FakeEndpoint, images
from tests.image_files import honest

ROW = {
    "split": "train",
    "image_id": 7,
    "question_id": "q1",
    "question": "What is on the mat?",
    "correct_choice_idx": 2,
    "choices": ["dog", "shoe", "cat", "cup"],
    "rationales": ["A cat.", "The cat lies there.", "It sleeps."],
}
LOOKED = """Subgoal 1: Look at the mat.
Action 1-1: R1 = VQA([IMG], Question: What lies on the mat?) = a cat

Subgoal 2: Choose the answer.
Action 2-1: R2 = VQA([IMG], Question: What is on the mat? We can also see that a cat lies there.) = C"""


@pytest.fixture
def lumos(tmp_path, monkeypatch, capsys):
    """Run a command in a home of its own; returns its exit code, the JSON object it prints, and what it says."""
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))

    def run(*arguments: str) -> tuple[int, dict, str]:
        code = main((*arguments, "--json"))
        out, err = capsys.readouterr()
        return code, json.loads(out.splitlines()[-1]) if out else {}, err

    return run


@pytest.fixture
def data(tmp_path):
    """Two rows, of which the first has its image; the options that read them, and the image's bytes."""
    path = tmp_path / "rows.json"
    path.write_text(json.dumps([ROW, {**ROW, "image_id": 8, "question_id": "q2", "question": "What is there?"}]))
    folder = tmp_path / "images"
    folder.mkdir()
    (folder / "000000000007.png").write_bytes(honest())
    return ["aokvqa", "--data", str(path)], ["--option", f"images={folder}"], honest()


def verdicts(report: dict) -> dict[str, int]:
    return {one["name"]: one["planner"] for one in report["verdicts"]}


def test_the_teacher_sees_the_image_and_the_completion_says_which(lumos, data):
    rows, shown, image = data
    with FakeEndpoint(lambda prompt: LOOKED, keep_bodies=True) as server:
        code, report, said = lumos("convert", *rows, *shown, "--teacher", server.chat)
    assert code == 0 and "1 of 2 rows have no image" in said
    asked = [body for body in server.bodies if "Natural language plan" in str(body)]
    assert [images(body) for body in asked] == [[image]], "the row without its image is not asked about"
    assert "The image of the last task is shown" in str(asked[0])
    assert report["accepted"] == {"planner": 1, "grounder": 1, "both": 1} and report["rows_in"] == 2
    assert verdicts(report) == {"no_image": 1} and report["vision"] == "image"
    digest = hashlib.sha256(image).hexdigest()
    _, found, _ = lumos("show", f"{report['job']}-0")
    (completion,) = [step for step in found["steps"] if step["who"] == "teacher"]
    assert completion["note"] == f"shown with the image {digest}"
    assert "base64" not in json.dumps(found), "its digest, not its bytes"


def test_the_real_photograph_arrives_byte_for_byte_and_the_other_844_rows_wait(lumos, shared_data):
    folder = shared_data / "aokvqa"
    with FakeEndpoint(lambda prompt: LOOKED, keep_bodies=True) as server:
        code, report, said = lumos(
            "convert",
            "aokvqa",
            "--data",
            str(folder / "aokvqa_v1p0_val.json"),
            "--split",
            "dev",
            "--option",
            f"images={folder / 'images'}",
            "--teacher",
            server.chat,
            "--reasks",
            "0",
        )
    photograph = (folder / "images" / "000000039769.png").read_bytes()
    assert [images(body) for body in server.bodies] == [[photograph], [photograph]], ("a trial, and the row", said)
    assert code == 0 and (report["rows_in"], verdicts(report)["no_image"]) == (845, 844)


def test_a_teacher_that_is_asked_again_sees_the_image_again_where_the_task_is(lumos, data):
    rows, shown, image = data
    with FakeEndpoint(
        lambda prompt: LOOKED if "not accepted" in prompt else "Subgoal 1: Look.", keep_bodies=True
    ) as server:
        _, report, _ = lumos("convert", *rows, *shown, "--teacher", server.chat, "--limit", "1")
    first, again = [body for body in server.bodies if "Natural language plan" in str(body)]
    assert images(first) == images(again) == [image]
    assert again["messages"][: len(first["messages"])] == first["messages"], "the conversation goes on as it began"
    assert report["accepted"]["both"] == 1


def test_text_generation_inference_is_shown_the_image_too(lumos, data):
    rows, shown, image = data
    with FakeEndpoint(lambda prompt: LOOKED, keep_bodies=True) as server:
        _, report, _ = lumos("convert", *rows, *shown, "--teacher", server.tgi, "--limit", "1")
    assert images(server.bodies[-1]) == [image] and report["accepted"]["both"] == 1


def test_a_teacher_without_eyes_is_refused_in_one_line(lumos, data, tmp_path):
    rows, shown, _ = data
    with FakeEndpoint(lambda prompt: LOOKED) as server:
        code, _, said = lumos("convert", *rows, *shown, "--teacher", server.openai)
        assert code == 2 and server.count == 0
    (line,) = said.splitlines()[-1:]
    assert f"The teacher {server.openai} accepts no images:" in line, "by its address: a deployment makes no trial"
    assert "--vision caption" in line and "--vision none" in line
    assert not (tmp_path / "home").exists(), "nothing was stored"


def test_a_chat_model_that_refuses_images_is_found_out_at_submission(lumos, data, tmp_path):
    rows, shown, _ = data
    with FakeEndpoint(lambda prompt: 400 if "Natural" not in prompt and "1 + 1" not in prompt else LOOKED) as server:
        code, _, said = lumos("convert", *rows, *shown, "--teacher", server.chat)
    assert code == 2 and "accepts no images" in said and "--vision caption" in said
    assert not (tmp_path / "home").exists()


def test_rows_without_images_are_refused_in_one_line(lumos, data):
    rows, _, _ = data
    with FakeEndpoint(lambda prompt: LOOKED) as server:
        code, _, said = lumos("convert", *rows, "--teacher", server.chat)
        assert code == 2 and server.count == 0
    assert "None of the 2 rows has an image" in said and "--option images=DIR" in said


def test_captions_can_stand_for_images_and_the_job_says_so(lumos, data, tmp_path):
    rows, _, _ = data
    captions = tmp_path / "captions.json"
    captions.write_text(json.dumps({"captions": {"q1": "A cat sleeps on a mat."}}))
    with FakeEndpoint(lambda prompt: LOOKED, keep_bodies=True) as server:
        _, report, _ = lumos(
            "convert", *rows, "--option", f"captions={captions}", "--vision", "caption", "--teacher", server.openai
        )
        assert server.count == 1 and "The image shows the following contents: A cat sleeps" in str(server.bodies[0])
    assert report["vision"] == "caption" and verdicts(report) == {"no_caption": 1}
    assert report["accepted"]["both"] == 1


def test_a_blind_teacher_is_one_that_was_asked_for(lumos, data):
    rows, shown, _ = data
    with FakeEndpoint(lambda prompt: LOOKED, keep_bodies=True) as server:
        _, report, _ = lumos("convert", *rows, *shown, "--vision", "none", "--teacher", server.chat)
    assert [images(body) for body in server.bodies] == [[], []] and report["vision"] == "none"
    assert report["accepted"]["both"] == 2


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["aokvqa", "--vision", "sound", "--teacher", "chat://h:1"], "one of image, caption, none, not 'sound'"),
        (["aokvqa", "--vision", "none", "--deterministic"], "it needs a --teacher"),
    ],
)
def test_wishes_that_mean_nothing_are_refused(lumos, data, options, told):
    rows, _, _ = data
    code, _, said = lumos("convert", *options, *rows[1:])
    assert code == 2 and told in said


def test_sources_without_images_know_no_vision(lumos, tmp_path):
    code, _, said = lumos("convert", "wordmath", "--teacher", "chat://h:1", "--vision", "image")
    assert code == 2 and "rows of 'wordmath' have no images" in said


def test_a_job_from_before_goes_on_without_images_and_with_the_prompt_it_began_with():
    """Its stored steps were asked that way: another prompt would throw them away."""
    new = Convert("prm800k", "d", "train", teacher="chat://h:1")
    stored = {name: value for name, value in new.as_json().items() if name not in ("vision", "prompt")}
    old = Convert.from_json(stored)
    assert (old.vision, old.prompt_prefixes()["teacher"].count("'Code'")) == ("", 0)
    assert new.prompt_prefixes()["teacher"].count("'Code'") == 1
    assert Convert.from_json(new.as_json()) == new and Convert.from_json(old.as_json()) == old
