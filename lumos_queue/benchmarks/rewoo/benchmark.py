"""ReWOO's planner data (planner_instruction_tuning_2k): questions, with plans that call tools, without their results.
Rows have Alpaca's form; this is the output of an invented row with the input `Who wrote the book on the Rhine?`:

    Plan: Find the book on the Rhine.
    #E1 = Wikipedia[Rhine (book)]
    Plan: Find out who wrote it.
    #E2 = LLM[Who wrote the book? Given context: #E1]

The rule makes a subgoal of each `Plan`, and actions of its calls. A search becomes KnowledgeQuery and
ParagraphRetrieve, with the question that a later call asks about its result; `LLM` becomes QA over the evidence that
the call names. Without results, the rows can only train LUMOS-O, whose planner is sent no results
(`--formulation one-pass`). The row's instruction, which lists ReWOO's tools, is not used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.errors import BadRow
from lumos_queue.rationales.reasons import NotConvertible
from lumos_queue.rationales.steps import Steps, reject_variables
from lumos_queue.readers.instructions import Instruction, read_instructions
from lumos_queue.records import Annotation, Level, Task

SEARCHES = ("Wikipedia", "Google", "Search")
_PLAN = re.compile(r"^[^\S\n]*+Plan(?:\s*\d+)?:", re.MULTILINE)
_CALL = re.compile(r"#E(\d+)\s*=\s*(\w+)\s*\[")
_CALL_END = re.compile(r"\]\s*(?=#E\d+\s*=|\Z)")
_BEGIN = re.compile(r"#E\d+\s*=")
_EVIDENCE = re.compile(r"#E(\d+)")
_CONTEXT = re.compile(r"(?:(?<![\s.,;(])[\s.,;(]++)?\bgiven(?: the)? contexts?:?[\s#E\d,;and)]*\Z", re.IGNORECASE)


class ReWOO(Benchmark):
    name = "rewoo"
    domain = "complex_qa"
    teacher_prompt = "qa"
    licence = "unknown"
    splits = ("train",)
    check_level = Level.FORMAT

    def read(self, path: Path | None, split: str, **options: str) -> Iterator[Task | BadRow]:
        for row in read_instructions(path):
            yield row if isinstance(row, BadRow) else self._task(row)

    def _task(self, row: Instruction) -> Task:
        return Task(
            self.name, "", str(row.number), row.input or row.instruction, gold={"answer": "", "plan": row.output}
        )

    def rationale(self, task: Task) -> str:
        return task.gold["plan"]

    def gold(self, task: Task) -> Annotation:
        blocks = _blocks(task.gold["plan"])
        calls = [call for _, block_calls in blocks for call in block_calls]
        steps, variables, subgoals = Steps(), {}, {}
        for position, (text, block_calls) in enumerate(blocks, start=1):
            actions = []
            for number, tool, tool_input in block_calls:
                for name, arguments in _actions(
                    tool, tool_input, number, calls, task.question, steps.last + len(actions)
                ):
                    actions.append((name, _with_variables(arguments, variables), ""))
                variables[number], subgoals[number] = f"R{steps.last + len(actions)}", position
            steps.add(_with_references(text, subgoals), actions)
        return steps.finish("", results=False)


def _blocks(plan: str) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Return the text of each `Plan` with its (number, tool, input) calls. Raises NotConvertible."""
    before, *blocks = _PLAN.split(plan)
    plan_blocks = []
    for block in blocks:
        begins = _BEGIN.search(block)
        text, rest = (block[: begins.start()], block[begins.start() :]) if begins else (block, "")
        calls, between = _read_calls(rest)
        words = " ".join(text.split())
        if before.strip() or between.strip() or not calls or not words:
            raise NotConvertible("unreadable_plan")
        plan_blocks.append(
            (words, [(number, tool, " ".join(tool_input.split())) for number, tool, tool_input in calls])
        )
    if not plan_blocks:
        raise NotConvertible("unreadable_plan")
    reject_variables(
        *(text for words, calls in plan_blocks for text in (words, *(tool_input for *_, tool_input in calls)))
    )
    return plan_blocks


def _read_calls(text: str) -> tuple[list[tuple[str, str, str]], str]:
    """Return the (number, tool, input) calls, and the text around them."""
    calls, rest, position = [], "", 0
    while begin := _CALL.search(text, position):
        end = _CALL_END.search(text, begin.end())
        if end is None:  # then no later call has an end either
            break
        calls.append((begin[1], begin[2], text[begin.end() : end.start()]))
        rest += text[position : begin.start()]
        position = end.end()
    return calls, rest + text[position:]


def _actions(
    tool: str, tool_input: str, number: str, calls: list[tuple[str, str, str]], question: str, last: int
) -> list[tuple[str, str]]:
    """Return (name, arguments) of each action of a call. `last`: the number of the last variable before them."""
    if tool in SEARCHES:
        questions = (
            _question(text) for _, call_tool, text in calls if call_tool == "LLM" and number in _EVIDENCE.findall(text)
        )
        # A question may name evidence of a later call.
        query = next((text for text in questions if not _EVIDENCE.search(text)), question)
        return [("KnowledgeQuery", tool_input), ("ParagraphRetrieve", f"R{last + 1}, Query: {query}")]
    if tool == "LLM":
        evidence = ", ".join(dict.fromkeys(f"#E{evidence_number}" for evidence_number in _EVIDENCE.findall(tool_input)))
        return [("QA", f"[{evidence}], Question: {_question(tool_input)}")]
    if tool == "Calculator":
        return [("Calculator", tool_input)]
    raise NotConvertible("unknown_tool")


def _question(text: str) -> str:
    """Return the question in a call of `LLM`, without the part that only names evidence as its context."""
    return _CONTEXT.sub("", text) or text


def _with_variables(text: str, variables: dict[str, str]) -> str:
    """Return the text with evidence (`#E1`) replaced by variables. Raises NotConvertible if no earlier call made it."""
    if any(number not in variables for number in _EVIDENCE.findall(text)):
        raise NotConvertible("undefined_step")
    return _EVIDENCE.sub(lambda match: variables[match[1]], text)


def _with_references(text: str, subgoals: dict[str, int]) -> str:
    if any(number not in subgoals for number in _EVIDENCE.findall(text)):
        raise NotConvertible("undefined_step")
    return _EVIDENCE.sub(lambda match: f"the result of Subgoal {subgoals[match[1]]}", text)


benchmark = ReWOO()
