"""Jobs as they are stored, byte for byte: what each command asks for, with its defaults and with every option.

A worker of another version reads these, and the same request made again is found by their digest. The commands are
given to a deployment in which nobody works. Where specs are changed on purpose the file is written anew:

    python -m tests.integration.test_job_specs
"""

from __future__ import annotations

import json
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest

from lumos_queue.jobs.registry import read_job
from lumos_queue.training.engine.spec import FitSpec, LoraShape
from tests.integration.command_outputs import run
from tests.original_files import words

#: As jobs of earlier versions are stored.
FORMER = {
    "sft": {
        "recipe": "sft",
        "data": ["HOME/sums.jsonl"],
        "start": "",
        "folder": "HOME/fit",
        "formulation": "one-pass",
        "steps": 70,
        "window": 20,
        "content": "0d2abf77",
        "rate": 0.01,
        "seed": 4,
    },
    "starter": {
        "recipe": "starter",
        "data": "HOME/four",
        "folder": "HOME/fit",
        "steps": 8,
        "one_pass_steps": 4,
        "window": 4,
        "generated": 9,
    },
}
STORED = Path(__file__).with_name("job_specs.json")
NOBODY = "redis://127.0.0.1:9/0"
TWO = "--planner tgi://a:1 --grounder tgi://b:2,c:3"
REACT = "evaluate toolworld --split I1-inst --limit 2 --formulation react --role policy=chat://a:1?model=m"
SAMPLED = "--samples 2 --seed 5 --temperature 0.7 --top-p 0.9 --max-tokens 99"
#: Name to a command. FILES and HOME as in original_files.py.
CASES = {
    "evaluate": f"evaluate wordmath {TWO}",
    "evaluate, sampled": f"evaluate wordmath --split dev --limit 9 {SAMPLED} --max-subgoals 5 {TWO}",
    "evaluate, limited": "evaluate wordmath --setting calls=9 --setting tokens=900 --temperature 0.5 "
    f"--sampling grounder.temperature=0 --sampling grounder.max_tokens=64 {TWO}",
    "evaluate, sets": f"evaluate wordmath --draw 5 --sets 2 --at-limit wrong --framing eval {TWO}",
    "evaluate, concluding": f"evaluate strategyqa FILES --split dev --at-limit conclude {TWO} --role qa=tgi://q:4",
    "evaluate, one-pass": f"evaluate gsm8k FILES --formulation one-pass {TWO}",
    "evaluate, integrated": "evaluate svamp FILES --formulation integrated --solver tgi://a:1",
    "evaluate, cot": "evaluate mawps FILES --formulation cot --solver openai://a:1?model=m",
    "evaluate, direct": "evaluate superni FILES --formulation direct --solver tgi://a:1",
    "evaluate, yes or no": f"evaluate strategyqa FILES --split dev {TWO} --role qa=tgi://q:4",
    "evaluate, judged": f"evaluate hotpotqa FILES --split dev --answer-by last {TWO} --role qa=tgi://q:4 "
    "--role judge=chat://j:5?model=m",
    "evaluate, live": f"evaluate hotpotqa FILES --split dev --live --tool knowledge=live {TWO} --role qa=tgi://q:4",
    "evaluate, forced": f"evaluate mind2web FILES --split train --formulation teacher-forced {TWO}",
    "evaluate, shop": f"evaluate webshop --limit 3 {TWO}",
    "evaluate, one shot": f"evaluate webshop --shots 1 {TWO}",
    "evaluate, images": f"evaluate aokvqa FILES --split val {TWO} --role qa=tgi://q:4 --role vqa=chat://v:6?model=m",
    "evaluate, blind": f"evaluate aokvqa FILES --split val --tool vision=none {TWO} --role qa=tgi://q:4 "
    "--role vqa=tgi://v:6",
    "evaluate, chat": "evaluate mawps FILES --formulation cot --solver chat://a:1?model=m",
    "evaluate, chosen requests": "evaluate mawps FILES --formulation direct --solver chat://a:1?model=m --stop Q: "
    "--stop \\n --system Brief. --prompt HOME/template.txt --request top_k=5 --request max_tokens=null",
    "evaluate, no stop": "evaluate mawps FILES --formulation direct --solver openai://a:1?model=m --stop= --system=",
    "evaluate, a chat planner": "evaluate wordmath --planner chat://a:1?model=m --grounder tgi://b:2 "
    "--sampling grounder.max_tokens=64 --request planner.top_k=5",
    "evaluate, tool agent": REACT,
    "evaluate, sampled tool agent": f"{REACT} --temperature 0.5 "
    "--stop END --sampling policy.max_tokens=99 --request min_p=0.1",
    "infer": f"infer musique FILES --split dev {TWO} --role qa=tgi://q:4",
    "infer, captions": "infer aokvqa FILES --split val --formulation caption --role captioner=chat://v:6?model=m",
    "convert": "convert gsm8k FILES --split train --deterministic",
    "convert, taught": "convert musique FILES --split train --teacher chat://t:7?model=m",
    "convert, paid": "convert svamp FILES --split train --teacher chats://t:7?model=m --subgoals low --reasks 2 "
    "--temperature 0.3 --max-tokens 99 --price-prompt 0.5 --price-completion 1.5 --budget 2 --seed 3 --limit 4 "
    "--perturbations 0 --longest 512",
    "convert, seen": "convert aokvqa FILES --split dev --teacher chat://t:7?model=m",
    "convert, unseen": "convert aokvqa FILES --split dev --teacher chat://t:7?model=m --vision none",
    "train": "train sft --data HOME/sums.jsonl --from scratch --folder HOME/fit",
    "train, for long": "train sft --data HOME/sums.jsonl --from scratch --folder HOME/fit --formulation one-pass "
    "--steps 70 --window 20 --rate 0.01 --seed 4",
    "train, starter": "train starter --data HOME/four --folder HOME/fit",
    "train, a small starter": "train starter --data HOME/four --folder HOME/fit --steps 8 --one-pass-steps 4 "
    "--window 2 --generated 9",
}


def environment(folder: Path) -> dict[str, str]:
    return {"LUMOS_HOME": str(folder / "home"), "LUMOS_BROKER_URL": NOBODY, "LUMOS_USER": "somebody"}


def stored_job(command: str, folder: Path) -> dict[str, Any]:
    """What the database keeps of the job that the command asks for; the folder is written as HOME."""
    (folder / "sums.jsonl").write_text(
        json.dumps(
            {
                "id": "1",
                "dataset": "sums",
                "messages": [{"role": "user", "content": "Add 1 and 2."}, {"role": "assistant", "content": "3"}],
            }
        )
        + "\n"
    )
    (folder / "template.txt").write_text("Q: {question}\nA:\n")
    for name in ("gsm8k", "mawps", "asdiv", "svamp"):
        (folder / "four" / name).mkdir(parents=True, exist_ok=True)
    said = run(*(word.replace("HOME", str(folder)) for word in words(command, folder, {})), "--json")
    assert said.startswith("exit code 0"), said
    job = next(json.loads(line)["job"] for line in said.splitlines() if line.startswith("{"))
    found = json.loads(run("job", job, "--json").splitlines()[1])
    kept = {name: found[name] for name in ("kind", "split", "formulation", "dataset", "agent", "seed", "items", "spec")}
    return json.loads(json.dumps(kept).replace(str(folder), "HOME"))


@pytest.mark.parametrize("name", CASES)
def test_what_is_stored_of_a_request_is_as_it_was(name, tmp_path, monkeypatch):
    folder = tmp_path.resolve()
    for variable, value in environment(folder).items():
        monkeypatch.setenv(variable, value)
    found, known = stored_job(CASES[name], folder), json.loads(STORED.read_text(encoding="utf-8"))[name]
    assert json.dumps(found, indent=1) == json.dumps(known, indent=1)  # in the same order, too


@pytest.mark.parametrize("name", CASES)
def test_a_stored_job_is_read_as_it_was_written(name):
    stored = json.loads(STORED.read_text(encoding="utf-8"))[name]
    assert json.dumps(read_job(stored["kind"], stored["spec"]).as_json(), sort_keys=True) == json.dumps(
        stored["spec"], sort_keys=True
    )


def test_a_fit_keeps_its_digest():
    """It is in every checkpoint: were it another, a half-done fit would begin anew."""
    spec = FitSpec(data="/nowhere", content="ab" * 32, lora=LoraShape(), seed=4)
    assert spec.digest == "1731797adcf2f8cfb2232304eec590e8749c3d21955d148c1f1bb79f461a3f20"


@pytest.mark.parametrize("name", ["sft", "starter"])
def test_a_fit_of_the_former_engine_is_read_as_it_was_written(name):
    stored = FORMER[name]
    job = read_job("train", stored)
    assert job.as_json() == stored and len(job.windows()) == {"sft": 6, "starter": 5}[name]


def main() -> None:
    made = {}
    for name, command in CASES.items():
        with tempfile.TemporaryDirectory() as folder:
            os.environ.update(environment(Path(folder).resolve()))
            made[name] = stored_job(command, Path(folder).resolve())
    STORED.write_text(json.dumps(made, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
