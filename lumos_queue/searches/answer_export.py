"""Export stored episodes of tool agents as answer files, or in ToolEval's format. Imported files do not change."""

from __future__ import annotations

import json
import re
import secrets
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from db.engine.connection import Database
from db.queries.filters import Filter, Term
from db.queries.jobs import get_job
from db.queries.trajectories import StoredEpisode, stream_episodes
from lumos_queue.actions.tools.functions import FINISH
from lumos_queue.compat.toolbench.answer_file import CHAINS, TREE, AnswerFile, with_decisions
from lumos_queue.compat.toolbench.answer_reading import MAX_PATH
from lumos_queue.compat.toolbench.messages import Wording
from lumos_queue.compat.toolbench.stored_steps import count_replies, decisions_of
from lumos_queue.compat.toolbench.tooleval import tooleval_of
from lumos_queue.compat.toolbench.tree_writing import ANSWERED, GAVE_UP, NodeStyle
from lumos_queue.errors import SpecError, unknown
from lumos_queue.formulations.base import version_of
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.function_list import FunctionList
from lumos_queue.prompts.tool_agent import call_style, list_functions
from lumos_queue.records import Origin
from lumos_queue.searches.answer_episodes import KEPT, collect_messages
from lumos_queue.text_calls.decision_form import DecisionForm
from lumos_queue.util.paths import require_folders

FORMATS = ("answers", "tooleval")
TOOLEVAL = "tooleval.json"  #: one file for the episodes of a group: query number to entry
_OTHERS = re.compile(r"[^A-Za-z0-9.-]")  # no underscore: the query's number ends at the first one


def export_answer_files(database: Database, job: str, folder: Path, kind: str = "answers") -> int:
    """Write an answer file for each finished episode of a job, or a file for all (`tooleval`). Return their number.

    After an error there is no folder. Raises SpecError for a job of an unsuitable formulation or without finished
    episodes, for an unknown format, and for a folder that is not empty.
    """
    if kind not in FORMATS:
        raise unknown("format", kind, FORMATS)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise SpecError(f"'{folder}' is not an empty folder, and no file is overwritten. Name another with --out.")
    require_folders(folder, "--out")
    with database.engine.connect() as connection:
        row = get_job(connection, job)
    exporter = EpisodeExporter(row)
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.parent / f".{folder.name}.{secrets.token_hex(4)}"
    part.mkdir()
    try:
        episodes = stream_episodes(database, Filter((Term("job", "=", row.id),)))
        files = (exporter.make_file(episode) for episode in episodes)
        count = _write_files(part, files) if kind == "answers" else _write_tooleval(part, files)
        if not count:
            raise SpecError(f"Job {row.id} has no finished episode with a decision: there is nothing to write.")
        part.replace(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return count


class EpisodeExporter:
    """Converts the episodes of a job, as its formulation says (formulations/answer_files.py)."""

    def __init__(self, job: Any):
        """`job`: the job's row. Raises SpecError if its formulation has no answer files."""
        formulation = FORMULATIONS.load(job.formulation) if FORMULATIONS.knows(job.formulation) else None
        if formulation is None or formulation.answer_files is None:
            candidates = ((name, FORMULATIONS.find(name)) for name in FORMULATIONS.names)
            names = ", ".join(name for name, candidate in candidates if candidate and candidate.answer_files)
            raise SpecError(f"Job {job.id} is of the formulation '{job.formulation}': expected one of {names}.")
        self._formulation, self._facts = formulation, formulation.answer_files
        self._role, self._spec, self._version = formulation.roles[0], job.spec, version_of(job.spec)

    def make_file(self, episode: StoredEpisode) -> AnswerFile:
        """Return the answer file of an episode."""
        facts = self._facts
        if (header := episode.task.inputs.get(KEPT)) and episode.origin == Origin.IMPORTED:
            decisions = decisions_of(facts.form, self._role, episode.steps, self._version)
            return with_decisions(header, episode.task.question, decisions)
        agent = Agent.from_json(self._spec.get("infer", self._spec)["agent"])
        max_calls = (agent.limits.calls or facts.max_calls) if facts.max_calls else 0
        decisions = decisions_of(facts.form, self._role, episode.steps, self._version, max_calls)
        texts = collect_messages(decisions, facts.describe_tries) if facts.describe_tries else {}
        functions = list_functions(episode.task, agent, self._version)
        ends = [number for number, decision in enumerate(decisions) if decision.code == ANSWERED]
        give_ups = [number for number, decision in enumerate(decisions) if decision.code == GAVE_UP and facts.is_tree]
        is_search = facts.form is DecisionForm.SEARCH
        settings = self._formulation.read_settings(agent)
        return AnswerFile(
            f"{_name(episode)}_{self._name_method(settings)}.json",
            TREE if facts.is_tree else CHAINS,
            episode.task.question,
            self._export_functions(agent, functions),
            decisions,
            (ends or give_ups or [None])[0],
            Wording(f"{facts.system}{functions.export_tools()}", episode.task.question, texts),
            NodeStyle(),
            dict(facts.limits(settings, agent.limits)),
            episode.totals.tokens,
            discarded_replies=count_replies(episode.steps, self._role) - len(decisions) if is_search else 0,
        )

    def _export_functions(self, agent: Agent, functions: FunctionList) -> list[dict[str, Any]]:
        """Return the schemas of the functions, with exactly those descriptions that the agent was shown."""
        if call_style(agent).native:
            return [function.schema() for function in functions.functions]
        if not self._facts.shows_finish:
            finish = replace(FINISH, description="").schema(is_described=False)
            return [*functions.without_finish().export(), finish]
        return functions.export()

    def _name_method(self, settings: Mapping[str, Any]) -> str:
        """Return ToolBench's name of the method."""
        if self._facts.method is not None:
            return self._facts.method(settings)
        return f"{_OTHERS.sub('-', self._formulation.name)}_CoT@1"


def _name(episode: StoredEpisode) -> str:
    """Return the query's number. Samples after the first also have the number of the sample."""
    name = _OTHERS.sub("-", episode.task.row)[:100].strip(".") or str(episode.ordinal)
    return f"{name}-{episode.sample}" if episode.sample else name


def _write_files(folder: Path, files: Iterator[AnswerFile]) -> int:
    count = 0
    for file in _skip_empty(files):
        path = _folder_of(folder, file) / Path(file.name).name
        if path.exists():
            raise SpecError(f"Two episodes would both be written as '{path.name}': their tasks have the same number.")
        path.parent.mkdir(exist_ok=True)
        content = file.content()
        if file.kind == TREE and (deep := content["tree"]["max_length"] - 1) > MAX_PATH:
            raise SpecError(
                f"The tree of '{path.name}' has a path of {deep:,} nodes. In a file it may have {MAX_PATH}, to be read "
                "again: limit the depth of the search."
            )
        path.write_text(_as_text(content), encoding="utf-8", newline="\n")
        count += 1
    return count


def _write_tooleval(folder: Path, files: Iterator[AnswerFile]) -> int:
    entries_by_folder: dict[Path, dict[str, Any]] = {}
    for file in _skip_empty(files):
        entries = entries_by_folder.setdefault(_folder_of(folder, file), {})
        if file.query_id in entries:
            raise SpecError(f"Two episodes are of the query '{file.query_id}': ToolEval's format has one for a query.")
        entries[file.query_id] = tooleval_of(file)
    for path, entries in entries_by_folder.items():
        path.mkdir(exist_ok=True)
        (path / TOOLEVAL).write_text(_as_text(entries), encoding="utf-8", newline="\n")
    return sum(map(len, entries_by_folder.values()))


def _folder_of(folder: Path, file: AnswerFile) -> Path:
    """Return the folder within `folder` for the files of a group. A group is the name of a folder, and never a path."""
    group = Path(file.group).name
    return folder / group if group not in ("", "..") else folder


def _skip_empty(files: Iterator[AnswerFile]) -> Iterator[AnswerFile]:
    """Return the files that have a decision. An episode that failed before its first decision has none."""
    return (file for file in files if file.decisions)


def _as_text(content: Any) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"
