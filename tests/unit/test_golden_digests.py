"""Digests as they were when databases in use were written: another value here is another value there.

Each is a sha256 over content written for this test. When one of these values changes, what is stored under the old one
is no longer found or believed; what that means stands beside each.
"""

from __future__ import annotations

from dataclasses import replace

import pytest
from sqlalchemy import select

from db.engine.connection import open_database
from db.engine.migrate import upgrade
from db.journal.text_blocks import text_digest
from db.models import JobRow
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.builds.build import build
from lumos_queue.builds.known_benchmarks import KnownBenchmarks
from lumos_queue.builds.options import BuildOptions
from lumos_queue.commands import WITHIN, Ask, Call, Do, Note, digest
from lumos_queue.endpoints.base import Sampling
from lumos_queue.execution.executor import derive_seed
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Action, Subgoal, Task
from lumos_queue.settings import Settings
from lumos_queue.submission.store import submit
from tests.integration.rollout_jobs import rows_of
from tests.unit.test_builds_choosing import episode

PLANNER = "<|user|>\nPlan this: How many legs have 3 ostriches?\n<|assistant|>\n"
TASKS = (
    Task("wordmath", "", "1", "How many legs have 3 ostriches?", {"answer": "x = 3 * 2"}, {"answer": "6"}),
    Task("wordmath", "", "2", "Ein Strauß – wie viele Füße?", {}, {"answer": "2"}),
)

# A command's digest stands beside each recorded step. Were it another, every journal of a half-done episode would be
# taken for that of other code, the episode begun again, and every model call of it paid for twice.
COMMANDS = {
    "ask": (Ask("planner", PLANNER), "1e4c5fdda41952300a4c77ededc0f6157686193dd08f0e3fee0e72f6611bde21"),
    "ask with images": (
        Ask("planner", PLANNER, ("ab" * 32, "cd" * 32)),
        "a95de3428018734b863f9ab58ef49b6ff90aa9db9766d0c0eb69511118b2dfcc",
    ),
    "do": (
        Do(Action(("R1", "R2"), "Calculator", "3 * 2", "R1, R2 = Calculator(3 * 2)")),
        "020cfa0666eeb63ea61a82acd0c48a15d68e0746161ba550554a73dcda6e6ce4",
    ),
    "do without variables": (
        Do(Action((), "", "ostrich", "ostrich")),
        "5cfef45c967d32e808c29bbf911f969eabee468b1d78c7128a41a0b50fb5464b",
    ),
    "call": (
        Call("wikipedia", {"title": "Ostrich", "language": "en", "sections": [1, 2]}),
        "b52c3c0ae60a69e31f4a447908f73a24c7969874caa39d1b68226afe774ada59",
    ),
    "call with letters beyond ASCII": (
        Call("wikipedia", {"title": "Strauß"}),
        "1b65824802113daae99ea129a00186b1e2950f1e7fc82250124f93af645ea5b8",
    ),
    "note": (
        Note(Subgoal(2, "Subgoal 2: Count the legs.")),
        "b7c1c617bb724a7ff991003637a22fb032fa211024dfe1b2893358877bf2086a",
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_a_recorded_command_is_still_recognised(name):
    command, known = COMMANDS[name]
    assert command.digest == known


def test_no_two_lists_of_parts_have_one_digest():
    """What stands before a part says how long it is, in bytes."""
    apart = [("ab", "c"), ("a", "bc"), ("abc",), ("", "abc"), ("abc", ""), ("1:a", "bc"), ("2:ab", "1:c"), ()]
    assert len({digest(*parts) for parts in apart}) == len(apart)
    first = Ask("planner", "prompt", ("image",)), Ask("planner", "promptimage"), Ask("plannerprompt", "image")
    assert len({one.digest for one in first}) == 3
    notes = Note(Subgoal(1, "1 more")), Note(Subgoal(11, " more"))
    assert len({one.digest for one in notes}) == 2


def test_what_says_the_same_has_one_digest():
    assert Call("t", {"a": 1, "b": 2}).digest == Call("t", {"b": 2, "a": 1}).digest
    written = Action(("R1",), "Calculator", "1 + 1", "R1 = Calculator(1 + 1)")
    assert Do(written).digest == Do(Action(("R1",), "Calculator", "1 + 1", "R1  =  Calculator(1 + 1)")).digest


def test_a_step_on_the_way_of_an_action_keeps_its_place():
    """Stored branches: were this another number, replay would look for those steps elsewhere and do them again."""
    assert WITHIN == 1000


def test_a_sampled_reply_keeps_its_seed():
    """The seed each request is sent with: were it another, a run could not be repeated."""
    task = Task("wordmath", "ab" * 32, "7", "How many?")
    assert [derive_seed(5, task, 2, position, branch) for position, branch in ((0, 0), (3, 0), (3, 1))] == [
        871077099,
        670471054,
        1268971084,
    ]


def test_a_stored_text_is_still_found():
    """Long texts and heads of prompts are stored under their digest, and `prompt_digest` says what must come out."""
    assert text_digest(PLANNER) == "8e36052a35d7e81f30a7085b07bd8e81a088525ce6baecf27e9f117c600723ae"


def rows():
    return rows_of(open_benchmark("wordmath"), TASKS, "dev")


def test_a_stored_dataset_is_still_the_same():
    """Tasks are stored once under their dataset's digest: else each would be stored anew, and each job be a new one."""
    assert rows().digest == "3fe92d5c3d8094d832384e0a83d6f4e8e7014e492a1e1e93e1b919590633ac9b"


def agent(at_limit: str = "") -> Agent:
    return Agent(
        roles={"planner": "tgi://a:1", "grounder": "tgi://b:2"},
        domain="maths",
        sampling=Sampling(temperature=0.5),
        at_limit=at_limit,
    )


def test_an_agent_is_still_the_same():
    """Reports and comparisons hold episodes together by their agent's digest.

    Agents stored before an answer at the limit could count are those for which it is wrong.
    """
    assert agent().digest == "81c275da19ddabd0544f1b5d26e73d6990dd7466b610b76b04205947c385b860"
    assert agent("wrong").digest == "be8239a6c192c2209f0ea264721a289760922ad3ccf649b467b29283cf28d797"
    assert Agent.from_json(agent().as_json()).digest == agent().digest


def test_a_job_asked_for_again_is_still_found(tmp_path, monkeypatch):
    """A job of the same digest is shown instead of being run again: else everything would be paid for once more.

    The digest covers the version of the code too, which is held fixed here.
    """
    monkeypatch.setattr("lumos_queue.jobs.new_job.code_version", lambda: "0.1.0+golden")
    settings = Settings(home=tmp_path)
    database = open_database(settings.database)
    upgrade(database)
    found = rows()
    job = Infer("wordmath", found.digest, found.split, "iterative", agent(), seed=5)
    before = replace(job, agent=agent("wrong"), formulation_version=1)
    for infer, expected in [
        (job, "9ecb36eef39b1275be4ef0c30a6081aac7656ab8aa749ee6509e0becceed2d36"),
        (replace(job, formulation_version=3), "0f62cd849eeb40ed268a25fc2c6dd59b2eedd4f1c7923cd9563cf251bc71bbea"),
        (replace(job, formulation_version=2), "ba8ffc9612116536dd2d7b353e99b58130acdf16c66cf7c0c2257de478d8b93e"),
        (before, "e9590690d2231f3a3f87728964753a531a1c89c33d8351a92b2229f923d4ee14"),
    ]:
        identifier, new = submit(database, settings, Evaluate(infer), found)
        assert new and submit(database, settings, Evaluate(infer), found) == (identifier, False)
        with database.engine.connect() as connection:
            assert connection.execute(select(JobRow.digest).where(JobRow.id == identifier)).scalar_one() == expected
    database.close()


def test_a_build_made_again_is_still_the_same(tmp_path):
    """The digest is what names a training set: the options and every row in order, as text."""
    manifest, _ = build(
        (episode(1, "2 + 3"), episode(2, "3 + 2", "5 + 0")), "x", tmp_path / "x", BuildOptions(), KnownBenchmarks()
    )
    assert manifest["digest"] == "e099c484b27e65dd6592b23931dd508d8ed5652589c84be7381384ded56844b4"
