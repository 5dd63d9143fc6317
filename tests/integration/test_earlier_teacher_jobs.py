"""A half-done conversion by a teacher of an earlier version ends with its own prompts and verdicts, byte for byte."""

from __future__ import annotations

import hashlib

import pytest

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.queries.jobs import get_job
from lumos_queue.benchmarks.gsm8k.benchmark import GSM8K
from lumos_queue.jobs.convert import Convert
from lumos_queue.records import Task
from lumos_queue.submission.store import Rows, submit
from tests.fake_endpoint import FakeEndpoint
from tests.integration.test_rules_of_conversions import load_judgements
from tests.kills.killed_child import KILLED, end_sessions, make_settings, resume_job, work_and_die
from tests.stored_rows import state

#: Question, solution and answer of invented rows, by name. PROMPTS are made of them.
ROWS = {
    "plain": ("Ann has 8 pens and buys 3 pens. How many pens has she?", "8+3=<<8+3=11>>11 pens.", "11"),
    "other link": (
        "A shop has 20 boxes. A quarter of the boxes are red and a fifth are blue. How many boxes are neither?",
        "20/4=<<20/4=5>>5 boxes are red.\n20/5=<<20/5=4>>4 boxes are blue.\n20-5-4=<<20-5-4=11>>11 boxes are left.",
        "11",
    ),
    "doubtful": ("Tom, Ann and Kim share 30 nuts. How many has Tom?", "Tom has 30/3=<<30/3=10>>10 nuts.", "10"),
    "rejected": ("Bo has 7 mugs. How many has he?", "He has 7 mugs.", "7"),
}
#: The replies for each row, by a word of its question. That for boxes has a false link, and that for nuts an unnamed 3.
REPLIES = {
    "pens": "Subgoal 1: Add the pens.\nAction 1-1: R1 = Calculator(8 + 3) = 11",
    "boxes": "Subgoal 1: Find the red boxes.\nAction 1-1: R1 = Calculator(20 / 4) = 5\n\n"
    "Subgoal 2: Find the blue boxes.\nAction 2-1: R2 = Calculator(20 / R1) = 4\n\n"
    "Subgoal 3: Find the others.\nAction 3-1: R3 = Calculator(20 - R1 - R2) = 11",
    "nuts": "Subgoal 1: Divide the nuts.\nAction 1-1: R1 = Calculator(30 / 3) = 10",
    "mugs": "Subgoal 1: Count the mugs.\nAction 1-1: R1 = Calculator(7 + 0) = 8",
}
#: sha256 of the sorted prompts, and the judgements, of the release before teachers' replies were reviewed.
PROMPTS = "ca7dec6fe0ed5aaae28ea85affb3b8b78841521cafb7615c8714c6941ef6aa17"
JUDGEMENTS = {
    "plain": ("perturbed", []),
    "other link": ("executed", [("ambiguous link", "grounder", "3 operands: R1, R1, R2", False)]),
    "doubtful": ("executed", []),
    "rejected": (
        "",
        [
            ("result differs", "grounder", "R1 = Calculator(7 + 0) = 8 gives 7", True),
            ("result differs", "planner", "R1 = Calculator(7 + 0) = 8 gives 7", True),
        ],
    ),
}


@pytest.mark.parametrize("version", [1, 2])
def test_a_half_done_conversion_by_a_teacher_keeps_its_prompts_and_verdicts(tmp_path, version):
    tasks = (
        Task("gsm8k", "invented", name, question, gold={"answer": answer, "solution": solution})
        for name, (question, solution, answer) in ROWS.items()
    )
    rows = Rows(GSM8K(), "train", "invented", tuple(tasks), ())
    prompts: set[str] = set()

    def answer(prompt: str) -> str:
        prompts.add(prompt)
        question = prompt.rpartition("natural language plan!\n\nTask: ")[2].partition("\n")[0]
        return next(reply for word, reply in REPLIES.items() if word in question)

    settings = make_settings(tmp_path, concurrency=1)
    database = open_database(settings.database)
    upgrade(database)
    with FakeEndpoint(answer) as server:
        job, _ = submit(
            database, settings, Convert("gsm8k", "invented", "train", rule_version=version, teacher=server.chat), rows
        )
        with database.engine.connect() as connection:
            spec = get_job(connection, job).spec
        assert not spec.keys() & {"teacher_checks", "samples", "waiting", "drafts", "waiting_prompt"}
        assert work_and_die(settings, job, tmp_path / "log", 6) == KILLED
        assert 0 < len(prompts) < 5
        end_sessions(settings)
        resume_job(settings, job)
        assert server.count <= 6, "only a call in flight at the kill is made again"
    assert state(database, job) == "done"
    assert load_judgements(database, job) == JUDGEMENTS
    assert hashlib.sha256("\0".join(sorted(prompts)).encode()).hexdigest() == PROMPTS
    database.close()
