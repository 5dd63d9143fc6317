"""Jobs of every formulation, their model server, and queries of what they store.

`made_before_readers.py` runs with the code before formulation version 3 or 4, `test_before_readers.py` and
`test_before_descriptions.py` with the current code; all import this module. It reads the database by SQL, so that
columns may be added.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from sqlalchemy import Connection, text

from db.engine.connection import Database
from lumos_queue.benchmarks.registry import open_benchmark
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.jobs.evaluate import Evaluate
from lumos_queue.jobs.infer import Infer
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Task
from lumos_queue.settings import Settings
from lumos_queue.submission.store import submit
from lumos_queue.submission.submit_options import SubmitOptions
from tests.integration.before_readers_models import DRESSES, Model, find_number
from tests.integration.command_outputs import run
from tests.integration.made_at_limit import tasks as mills
from tests.integration.rollout_jobs import rows_of
from tests.original_files import write_originals
from tests.recording_endpoint import RecordingEndpoint, Requests, read_prompt
from tests.tool_apis import LATEST, OFFICES, record

EXPECTED = "expected"  #: name of the lines of no table: a project, and the results of its job without an interruption
CONCURRENCY = 4  #: items that run at once
CRATES = len(DRESSES)  #: rows of maths
TASKS = 7  #: of most other benchmarks
OPENAGI_TASKS = (9, 11, 12, 19)  #: most of them have no picture
DESCRIBED = "described"  #: documents of functions with descriptions of tools and arguments
MOST_CALLS = 9  #: of an episode of a tool agent
REASONING = "The task is short."  #: what a chat server sends beside the text of a reply


@dataclass(frozen=True, slots=True)
class Case:
    """A job. `arguments`: those of its command; without a command, a benchmark or formulation, and a scheme."""

    arguments: str
    model: Model
    command: str = "evaluate"  #: '' for a job whose tasks no command can read
    whole: bool = False  #: whether it ends before the other jobs are submitted
    samples: int = 1  #: of each task


def _maths(formulation: str, scheme: str, extra_options: str = "", shift: int | None = None, samples: int = 1) -> Case:
    roles = ("planner", "grounder") if formulation in ("iterative", "one-pass") else ("solver",)
    options = " ".join(f"--{role} {scheme.upper()}" for role in roles)
    shift = {"tgi": 0, "openai": 3, "chat": 6}[scheme] if shift is None else shift
    rows = f"gsm8k --data HOME/crates.jsonl --samples {samples}"
    arguments = f"{rows} --max-subgoals 3 --formulation {formulation} {options} {extra_options}"
    return Case(arguments, Model(shift, formulation in ("one-pass", "direct")), samples=samples)


def _tools(formulation: str, scheme: str, shift: int = 0, whole: bool = False, documents: str = "plain") -> Case:
    return Case(f"{formulation} {scheme} {documents}", Model(shift), "", whole)


#: Project to job. In the arguments TGI, OPENAI and CHAT are addresses of the model server, HOME is the folder.
CASES: dict[str, Case] = {
    "react, to be judged": _tools("react", "tgi", whole=True),
    **{
        f"{formulation} over {scheme}": _maths(formulation, scheme)
        for formulation in ("iterative", "one-pass", "cot", "direct")
        for scheme in ("tgi", "openai", "chat")
    },
    "iterative, sampled": _maths(
        "iterative", "openai", "--temperature 0.7 --top-p 0.9 --limit 4 --sampling grounder.max_tokens=64", 5, samples=2
    ),
    "integrated over tgi": _maths("integrated", "tgi", "--framing eval --shots 1"),
    "integrated over chat": _maths("integrated", "chat"),
    "iterative, questions": Case("hotpotqa chat", Model(1), ""),
    "teacher-forced": Case(
        "mind2web FILES --split train --formulation teacher-forced --planner TGI --grounder CHAT", Model(1)
    ),
    "caption": Case("aokvqa FILES --split val --formulation caption --role captioner=CHAT", Model(), "infer"),
    "model-synthesis": Case("openagi chat", Model(2), ""),
    "react over chat": _tools("react", "chat", 1),
    "react over openai": _tools("react", "openai", 4),
    "dfsdt": _tools("dfsdt", "chat", 2),
    "rewoo": _tools("rewoo", "chat"),
    "sum2act": _tools("sum2act", "chat", 1),
    "open-ended": _tools("open-ended", "chat", 2),
    "tooleval": Case("JOB --votes 2 --role judge=CHAT", Model(8), "judge"),
    "conversion": Case("gsm8k --data HOME/crates.jsonl --split train --teacher CHAT", Model(), "convert"),
}
#: Of agents whose functions and tools have descriptions.
DESCRIBED_CASES: dict[str, Case] = {
    f"{formulation}, described": _tools(formulation, "chat", shift, documents=DESCRIBED)
    for shift, formulation in enumerate(("react", "dfsdt", "rewoo", "sum2act", "open-ended"))
}
CASES_BY_FILE = {"before_readers": CASES, "before_descriptions": DESCRIBED_CASES}


class Server(RecordingEndpoint):
    """A model server that leaves some requests without an answer."""

    def __init__(self) -> None:
        super().__init__(Model())
        self.unanswered = 0
        #: How many requests about a task are answered, by its number; all requests of tasks without a limit are.
        self.limits: Mapping[int | None, int] = {}
        self._answer_counts: Counter[int | None] = Counter()

    def begin(self, case: Case, limits: Mapping[int | None, int] | None = None) -> None:
        """Reply as the models of a job, and forget the requests of other jobs."""
        self.reply, self.limits, self.requests, self.unanswered = case.model, limits or {}, [], 0
        self._answer_counts.clear()

    def answer(self, path: str, raw: bytes, head: bytes, send: Callable[..., None], cut: Callable[[], None]) -> None:
        number = find_number(read_prompt([path, json.loads(raw)]))
        if self._answer_counts[number] >= self.limits.get(number, 10**6):
            self.unanswered += 1
            return
        self._answer_counts[number] += 1
        is_chat = path.endswith("/chat/completions")
        super().answer(path, raw, head, partial(_send_with_reasoning, send) if is_chat else send, cut)


def _send_with_reasoning(send: Callable[..., None], status: int, body: bytes, *arguments: Any, **options: Any) -> None:
    """Send a chat's reply with reasoning in a separate field."""
    value = json.loads(body)
    value["choices"][0]["message"]["reasoning_content"] = REASONING
    value["usage"]["completion_tokens_details"] = {"reasoning_tokens": 5}
    send(status, json.dumps(value).encode(), *arguments, **options)


def make_environment(home: Path, url: str = "") -> dict[str, str]:
    """Return the environment of commands on the database in this folder, or at this address."""
    return {
        "LUMOS_HOME": str(home),
        "LUMOS_DATABASE_URL": url,
        "LUMOS_USER": "somebody",
        "LUMOS_BROKER_URL": "",
        "LUMOS_CONCURRENCY": str(CONCURRENCY),
        "LUMOS_POLL_SECONDS": "0.05",
        "LUMOS_LEASE_SECONDS": "60",
        "LUMOS_FLUSH_SECONDS": "0.05",
    }


def write_files(home: Path) -> dict[str, list[str]]:
    """Write the files that the commands read; returns the options for those of original_files.py."""
    rows = []
    for number in range(CRATES):
        boxes, pens = number + 3, 4 * (number + 3)
        question = f"Crate {number} has {boxes} boxes with 4 pens each, and 2 pens are lost. How many pens are there?"
        answer = f"The boxes have {boxes}*4 = <<{boxes}*4={pens}>>{pens} pens.\n#### {pens - 2}"
        rows.append({"question": question, "answer": answer})
    (home / "crates.jsonl").write_text("\n".join(map(json.dumps, rows)))
    return write_originals(home / "files", TASKS)


def submit_library_job(database: Database, settings: Settings, case: Case, server: Server) -> str:
    """Submit a job whose tasks no command can read; returns its id."""
    name, scheme, *documents = case.arguments.split()
    address = getattr(server, scheme)
    if name == "hotpotqa":
        formulation, rows = "iterative", rows_of(open_benchmark(name), mills(name)[:TASKS], "dev")
        roles = dict.fromkeys(("planner", "grounder", "qa", "judge"), address)
        agent = Agent(roles, "complex_qa", max_subgoals=3, answer_by="qa")
    elif name == "openagi":
        formulation, benchmark = "model-synthesis", open_benchmark(name)
        labelled_tasks = [*benchmark.read(None, "labelled", samples="1")]
        tasks = [labelled_tasks[index] for index in OPENAGI_TASKS]
        pictures = benchmark.artifacts.items()
        benchmark.artifacts = {name: data for name, data in pictures if name in str([task.inputs for task in tasks])}
        rows = rows_of(benchmark, tasks, "labelled")
        # No expert runs: a job names the digest of their code, and would be refused when that has changed.
        agent = Agent({"planner": address}, "experts", samplings=FORMULATIONS.load(formulation).samplings)
    else:
        formulation, definition = name, FORMULATIONS.load(name)
        rows = rows_of(
            open_benchmark("toolbench"), [_parcel(number, DESCRIBED in documents) for number in range(TASKS)], "I1-inst"
        )
        agent = Agent(
            dict.fromkeys(definition.roles, address),
            "tools",
            limits=replace(definition.limits, calls=MOST_CALLS),
            samplings=definition.samplings,
        )
        name = "toolbench"
    infer = Infer(name, rows.digest, rows.split, formulation, agent, approve_all=formulation == "open-ended")
    return submit(database, settings, Evaluate(infer), rows, SubmitOptions(again=True))[0]


def _parcel(number: int, described: bool) -> Task:
    answers = [
        record(arguments={"parcelid": f"P{number}"}, response={"town": "Ombry"}),
        record("Offices", {"town": "Ombry"}, ["Harbour", "Mill Lane"]),
    ]
    functions = [_describe(document) for document in (LATEST, OFFICES)] if described else [LATEST, OFFICES]
    inputs = {"functions": functions, "answers": answers}
    return Task("toolbench", "", str(number), f"Tell all of parcel P{number}.", inputs, {"relevant": []})


def _describe(document: dict[str, Any]) -> dict[str, Any]:
    lists = {
        name: [parameter | {"description": f"The {parameter['name']},\nas written"} for parameter in document[name]]
        for name in ("required_parameters", "optional_parameters")
    }
    return {**document, **lists, "tool_description": "Tracks parcels."}


def resume_job(job: str) -> None:
    """Work on a stored job until it is done, as `lumos resume` does."""
    output = run("resume", job, "--json")
    if not output.startswith("exit code 0"):
        raise RuntimeError(output)


_EPISODES = """SELECT i.ordinal, i.state, e.id, e.attempt, e.ending, e.answer, e.calls
    FROM item i LEFT JOIN episode e ON e.id = i.id WHERE i.job = :job ORDER BY i.ordinal"""
_STEPS = {
    "subgoals": "SELECT position, number, text FROM subgoal",
    "completions": "SELECT position, branch, role, reply, finish_reason, prompt_tokens, completion_tokens "
    "FROM completion",
    "executions": "SELECT position, branch, name, arguments, status, result FROM execution",
}


def load_episodes(database: Database, job: str) -> dict[str, Any]:
    """Return, by ordinal of the item, its state, and the ending, steps and scores of its episode."""
    with database.engine.connect() as connection:
        rows = connection.execute(text(_EPISODES), {"job": job}).mappings().all()
        return {str(row["ordinal"]): _episode(connection, dict(row)) for row in rows}


def _episode(connection: Connection, row: dict[str, Any]) -> dict[str, Any]:
    identifier = row.pop("id")
    del row["ordinal"]
    if identifier is None:
        return row
    parameters = {"episode": identifier, "attempt": row["attempt"]}
    for name, query in _STEPS.items():
        where = " WHERE episode = :episode AND attempt = :attempt ORDER BY position"
        order = "" if name == "subgoals" else ", branch"
        row[name] = [list(step) for step in connection.execute(text(f"{query}{where}{order}"), parameters)]
    scores = text("SELECT metric, value FROM score WHERE episode = :episode ORDER BY metric")
    row["scores"] = {metric: value for metric, value in connection.execute(scores, parameters)}
    return row


def count_calls(database: Database, job: str) -> int:
    """Count the calls that are recorded for a job, over all attempts."""
    query = text("SELECT count(*) FROM completion c JOIN episode e ON e.id = c.episode WHERE e.job = :job")
    with database.engine.connect() as connection:
        return connection.execute(query, {"job": job}).scalar_one()


def count_requests(requests: Requests) -> Counter[str]:
    """Count equal requests. The key is the JSON of a path and a body."""
    return Counter(json.dumps(request, sort_keys=True) for request in requests)
