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

from db.connection import Database
from db.filters import Filter, Term
from db.jobs import get_job
from db.trajectories import StoredEpisode, stream_episodes
from lumos_queue.actions.tools.functions import FINISH
from lumos_queue.compat.toolbench.answer_file import CHAINS, TREE, AnswerFile, with_decisions
from lumos_queue.compat.toolbench.answer_reading import MAX_PATH
from lumos_queue.compat.toolbench.messages import Wording
from lumos_queue.compat.toolbench.stored_steps import count_replies, decisions_of
from lumos_queue.compat.toolbench.tooleval import tooleval_of
from lumos_queue.compat.toolbench.tree_writing import ANSWERED, GAVE_UP, NodeStyle
from lumos_queue.errors import SpecError, unknown
from lumos_queue.formulations.base import version_of
from lumos_queue.formulations.dfsdt import MAX_TREE
from lumos_queue.formulations.registry import FORMULATIONS
from lumos_queue.prompts.agent import Agent
from lumos_queue.prompts.function_list import FunctionList
from lumos_queue.prompts.tool_agent import PLANNER, POLICY, ROUTER, call_style, list_functions
from lumos_queue.searches.answer_episodes import KEPT, collect_messages
from lumos_queue.util.paths import require_folders

FORMATS = ("answers", "tooleval")
TOOLEVAL = "tooleval.json"  #: one file for the episodes of a group: query number to entry
SEARCHES = ("react", "dfsdt")  #: the formulations in which each reply is a decision
_HEADS = {"react": POLICY, "dfsdt": POLICY, "sum2act": ROUTER, "rewoo": PLANNER}
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
    if row.formulation not in _HEADS:
        formulations = ", ".join(_HEADS)
        raise SpecError(f"Job {row.id} is of the formulation '{row.formulation}': expected one of {formulations}.")
    folder = folder.absolute()
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = folder.parent / f".{folder.name}.{secrets.token_hex(4)}"
    part.mkdir()
    try:
        episodes = stream_episodes(database, Filter((Term("job", "=", row.id),)))
        files = (answer_file_of_episode(episode, row.spec) for episode in episodes)
        count = _write_files(part, files) if kind == "answers" else _write_tooleval(part, files)
        if not count:
            raise SpecError(f"Job {row.id} has no finished episode with a decision: there is nothing to write.")
        part.replace(folder)
    except BaseException:
        shutil.rmtree(part, ignore_errors=True)
        raise
    return count


def answer_file_of_episode(episode: StoredEpisode, spec: Mapping[str, Any]) -> AnswerFile:
    """Return the answer file of an episode. `spec`: the spec of the episode's job."""
    if (header := episode.task.inputs.get(KEPT)) and episode.origin == "imported":
        decisions = decisions_of(episode.formulation, episode.steps, version_of(spec))
        return with_decisions(header, episode.task.question, decisions)
    agent = Agent.from_json(spec.get("infer", spec)["agent"])
    is_tree = episode.formulation == "dfsdt"
    max_calls = (agent.limits.calls or MAX_TREE) if is_tree else 0
    decisions = decisions_of(episode.formulation, episode.steps, version_of(spec), max_calls)
    texts = collect_messages(decisions) if is_tree else {}
    functions = list_functions(episode.task, agent, version_of(spec))
    ends = [number for number, decision in enumerate(decisions) if decision.code == ANSWERED]
    give_ups = [number for number, decision in enumerate(decisions) if decision.code == GAVE_UP and is_tree]
    is_search = episode.formulation in SEARCHES
    return AnswerFile(
        f"{_name(episode)}_{_method(episode.formulation, agent)}.json",
        TREE if is_tree else CHAINS,
        episode.task.question,
        _export_functions(episode.formulation, agent, functions),
        decisions,
        (ends or give_ups or [None])[0],
        Wording(f"{_HEADS[episode.formulation]}{functions.export_tools()}", episode.task.question, texts),
        NodeStyle(),
        _arguments(episode.formulation, agent),
        episode.prompt_tokens + episode.completion_tokens,
        discarded_replies=count_replies(episode.steps) - len(decisions) if is_search else 0,
    )


def _export_functions(formulation: str, agent: Agent, functions: FunctionList) -> list[dict[str, Any]]:
    """Return the schemas of the functions, with exactly those descriptions that the agent was shown."""
    if call_style(agent).native:
        return [function.schema() for function in functions.functions]
    if formulation == "rewoo":  # a planner is not shown Finish
        return [*functions.without_finish().export(), replace(FINISH, description="").schema(is_described=False)]
    return functions.export()


def _arguments(formulation: str, agent: Agent) -> dict[str, Any]:
    """Return the limits of the search by ToolBench's names. A limit of 0 means that there is none."""
    if formulation not in SEARCHES:
        return {"max_step": agent.limits.steps}
    settings = FORMULATIONS.load(formulation).read_settings(agent)
    arguments: dict[str, Any] = {"single_chain_max_step": agent.limits.depth}
    if formulation == "react":
        return arguments | {"pass_at": settings["tries"], "answer": 1}
    tree_limits = {"tree_beam_size": settings["width"], "max_query_count": agent.limits.calls}
    return arguments | tree_limits | {"answer": 1, "with_filter": False}


def _method(formulation: str, agent: Agent) -> str:
    """Return ToolBench's name of the method. ToolBench's converter recognises trees by 'DFS' and chains by 'CoT'."""
    settings = FORMULATIONS.load(formulation).read_settings(agent)
    names = {"react": f"CoT@{settings.get('tries')}", "dfsdt": f"DFS_woFilter_w{settings.get('width')}"}
    return names.get(formulation, f"{formulation}_CoT@1")


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
