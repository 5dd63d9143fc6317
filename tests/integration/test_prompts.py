"""A thousand prompts as they were: what planner, grounder, solver, tools, judge and teachers are asked, and what models
are trained on, by every domain and formulation. A model answers otherwise when one byte of them is another.

Everything goes through the command line to a model server that keeps what it is asked: no part of the code is named
here, so that parts may be moved. `prompts.json.gz` has the first digits of the sha256 of each prompt; where prompts are
changed on purpose it is written anew, with the shared data in place:

    python -m tests.integration.test_prompts
"""

from __future__ import annotations

import gzip
import hashlib
import json
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.fake_endpoint import FakeEndpoint
from tests.integration.command_outputs import run
from tests.original_files import words
from tests.scripted_models import all_at_once, step_by_step

STORED = Path(__file__).with_name("prompts.json.gz")
DATA = Path(__file__).resolve().parents[2].parent / "shared" / "data"
DIGITS = 16  #: kept of each digest
QA, JUDGE, VQA = "--role qa=ONE", "--role judge=ONE", "--role vqa=CHAT"
ONE, WHOLE = "--planner ONE --grounder ONE", "--formulation one-pass --planner OTHER --grounder OTHER"
LOOK = f"{VQA} {QA}"
#: Name to a command of `lumos`. ONE and OTHER are model servers (scripted_models.py), CHAT the first as a chat; FILES
#: are the options that read a benchmark's file.
CASES = {
    "maths": f"evaluate wordmath --split dev --limit 40 {ONE}",
    "maths, one-pass": f"evaluate wordmath --split dev --limit 40 {WHOLE}",
    "maths, integrated": "evaluate wordmath --split dev --limit 30 --formulation integrated --solver ONE",
    "maths, cot": "evaluate wordmath --limit 20 --formulation cot --solver ONE",
    "maths, direct": "evaluate wordmath --limit 20 --formulation direct --solver ONE --framing eval",
    "maths, as evaluated": f"evaluate wordmath --split dev --limit 10 --framing eval {ONE}",
    "gsm8k": f"evaluate gsm8k FILES {ONE}",
    "svamp": f"evaluate svamp FILES {ONE}",
    "mawps": f"evaluate mawps FILES {ONE}",
    "asdiv": f"evaluate asdiv FILES {WHOLE}",
    "strategyqa": f"evaluate strategyqa FILES --split dev {ONE} {QA}",
    "strategyqa, one-pass": f"evaluate strategyqa FILES --split dev {WHOLE} {QA}",
    "hotpotqa": f"evaluate hotpotqa FILES --split dev {ONE} {QA} {JUDGE}",
    "hotpotqa, one-pass": f"evaluate hotpotqa FILES --split dev {WHOLE} {QA} {JUDGE}",
    "hotpotqa, last value": f"evaluate hotpotqa FILES --split dev --answer-by last {ONE} {QA}",
    "musique": f"evaluate musique FILES --split dev {ONE} {QA}",
    "mind2web": f"evaluate mind2web FILES --split train {ONE}",
    "mind2web, forced": f"evaluate mind2web FILES --split train --formulation teacher-forced {ONE}",
    "aokvqa": f"evaluate aokvqa FILES --split val {ONE} {LOOK}",
    "aokvqa, one-pass": f"evaluate aokvqa FILES --split val {WHOLE} {LOOK}",
    "aokvqa, blind": f"evaluate aokvqa FILES --split val --tool vision=none {ONE} {LOOK}",
    "aokvqa, captions": "infer aokvqa FILES --split val --formulation caption --role captioner=CHAT",
    "scienceqa": f"evaluate scienceqa FILES {ONE} {LOOK}",
    "superni": "evaluate superni FILES --formulation direct --solver ONE",
    "webshop": f"evaluate webshop --limit 4 {ONE}",
    "webshop, no shots": f"evaluate webshop --limit 4 --shots 0 {ONE}",
    "intercode_sql": f"evaluate intercode_sql FILES --split dev {ONE}",
    "intercode_sql, one shot": f"evaluate intercode_sql FILES --split dev --shots 1 {ONE}",
}
#: Source to the subgoals that its teacher is asked for: both kinds once for each type of prompt.
TEACHERS = {
    "gsm8k": ("high", "low"),
    "svamp": ("high",),
    "mawps": ("high",),
    "asdiv": ("high",),
    "wordmath": ("high",),
    "prm800k": ("high", "low"),
    "strategyqa": ("high", "low"),
    "musique": ("high",),
    "hotpotqa": ("high",),
    "mind2web": ("high", "low"),
    "spider": ("high", "low"),
    "aokvqa": ("high", "low"),
}
CASES |= {
    f"teacher of {source}, {kind}": f"convert {source} FILES --split {'dev' if source == 'aokvqa' else 'train'} "
    f"--subgoals {kind} --limit 6 --teacher CHAT"
    for source, kinds in TEACHERS.items()
    for kind in kinds
}
#: The same of rows that are no part of the project.
SHARED = {
    "real gsm8k": f"evaluate gsm8k --data DATA/gsm8k/test.jsonl --limit 8 {ONE}",
    "real svamp": f"evaluate svamp --data DATA/svamp/SVAMP.json --limit 8 {WHOLE}",
    "real strategyqa": f"evaluate strategyqa --data DATA/strategyqa/train.json --split train --limit 6 {ONE} {QA}",
    "real hotpotqa": "evaluate hotpotqa --data DATA/hotpotqa/hotpot_dev_distractor_sample.json --split dev "
    f"--limit 4 {WHOLE} {QA}",
    "real mind2web": f"evaluate mind2web --data DATA/mind2web/reassembled_native.json --split train --limit 3 {ONE}",
    "real prm800k": "convert prm800k --data DATA/prm800k/samples.jsonl --split train --limit 6 --teacher CHAT",
}
#: Sources whose rows are converted by rule, and the formulations that a build of them is made for.
TAUGHT = {
    "wordmath": "iterative,one-pass,integrated,cot,direct",
    "gsm8k": "iterative,one-pass,integrated,cot,direct",
    "asdiv": "iterative,one-pass",
    "musique": "iterative,one-pass,cot",
    "strategyqa": "iterative,one-pass",
    "mind2web": "iterative,one-pass",
    "spider": "iterative",
    "webshop": "iterative",
}


@pytest.fixture(scope="module")
def stored() -> Mapping[str, list[str]]:
    return read_stored()


@pytest.fixture
def home(tmp_path, monkeypatch) -> Path:
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path / "home"))
    return tmp_path


def read_stored() -> dict[str, list[str]]:
    with gzip.open(STORED, "rt", encoding="utf-8") as file:
        return json.load(file)


def digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]


def prompts(command: str, folder: Path) -> dict[str, str]:
    """Digest to prompt of all that the command asks."""
    found: dict[str, str] = {}

    def keep(reply):
        return lambda prompt: (found.setdefault(digest(prompt), prompt), reply(prompt))[1]

    with FakeEndpoint(keep(step_by_step)) as one, FakeEndpoint(keep(all_at_once)) as other:
        places = {"ONE": one.tgi, "OTHER": other.tgi, "CHAT": one.chat}
        said = run(*words(command, folder, places))
    assert said.startswith("exit code 0"), said
    return found


def conversations(source: str, folder: Path) -> dict[str, str]:
    """Digest to text of each training conversation of the source's rows."""
    said = run(*words(f"convert {source} FILES --split train --limit 12 --deterministic", folder, {}))
    assert said.startswith("exit code 0"), said
    said = run(
        "dataset",
        "build",
        "taught",
        "--where",
        "origin=converted",
        "--formulations",
        TAUGHT[source],
        "--out",
        str(folder / "taught"),
    )
    assert said.startswith("exit code 0"), said
    lines = [
        f"{file.stem}\n{json.dumps(json.loads(line)['messages'], ensure_ascii=False)}"
        for file in sorted((folder / "taught").glob("*.jsonl"))
        if file.stem != "lineage"
        for line in file.read_text(encoding="utf-8").splitlines()
    ]
    return {digest(line): line for line in lines}


def check(found: Mapping[str, str], stored: list[str]) -> None:
    new = [text for name, text in found.items() if name not in set(stored)]
    assert not new, f"{len(new)} of {len(found)} prompts are not as they were; one of them:\n{new[0]}"
    assert sorted(found) == stored


SLOW = ("teacher of wordmath, high",)  #: wordmath's training split is made for it


@pytest.mark.parametrize("name", [pytest.param(one, marks=pytest.mark.long) if one in SLOW else one for one in CASES])
def test_what_models_are_asked_is_as_it_was(name, home, stored):
    check(prompts(CASES[name], home), stored[name])


@pytest.mark.parametrize("name", SHARED)
def test_what_models_are_asked_of_real_rows_is_as_it_was(name, home, stored, shared_data):
    check(prompts(SHARED[name].replace("DATA", str(shared_data)), home), stored[name])


@pytest.mark.parametrize(
    "source",
    [pytest.param(name, marks=pytest.mark.long) if name in ("webshop", "wordmath") else name for name in TAUGHT],
)
def test_what_models_are_trained_on_is_as_it_was(source, home, stored):
    check(conversations(source, home), stored[f"trained on {source}"])


def test_a_thousand_different_prompts_are_stored(stored):
    invented = {digest for name, digests in stored.items() if name not in SHARED for digest in digests}
    assert len(invented) >= 1000


def main() -> None:
    made = {}
    cases = CASES | {name: command.replace("DATA", str(DATA)) for name, command in SHARED.items()}
    for name in [*cases, *TAUGHT]:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["LUMOS_HOME"] = f"{folder}/home"
            if name in cases:
                made[name] = sorted(prompts(cases[name], Path(folder)))
            if name in TAUGHT:
                os.environ["LUMOS_HOME"] = f"{folder}/other"
                made[f"trained on {name}"] = sorted(conversations(name, Path(folder) / "taught"))
            print(name, len(made.get(name, ())), len(made.get(f"trained on {name}", ())), flush=True)
    with gzip.GzipFile(STORED, "wb", mtime=0) as file:
        file.write(json.dumps(made).encode())
    print(len({one for digests in made.values() for one in digests}))


if __name__ == "__main__":
    main()
