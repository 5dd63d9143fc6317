"""Write the teacher's prompts, and read its replies as annotations or as verdicts on problems (spec/lumos.md 7).

A prompt is framed text with the roles system, user and assistant. `chat://` endpoints split it into messages; other
endpoints are sent the text. A prompt contains the row's plan unchanged, including white space, with three exceptions:
role markers are escaped, also in repeated replies, so that no text can open a turn; characters that cannot be stored
(NUL, lone surrogates) are replaced; and white space at the end of the turn is removed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from lumos_queue.conversion import demos
from lumos_queue.conversion.drafts import Draft
from lumos_queue.conversion.form import issue_verdicts
from lumos_queue.conversion.verdicts import make_verdicts
from lumos_queue.notation import read_annotation
from lumos_queue.prompts.dialogue import FRAMINGS, Turn
from lumos_queue.records import AnnotatedSubgoal, Completion, FinishReason, Task, Verdict

SYSTEM = (
    "You are a helpful assistant to convert natural language plans or structural action list into subgoal-based plans "
    "and their corresponding structured actions."
)
_HEAD = (
    "Please convert natural language plans into a series of subgoals and their corresponding actions that lead to the "
    "successful implementation with respect to the given instructions. Please use 'R[number]' to represent the "
    "intermediate results for each subgoal, without generating any exact values. Please also use functions to "
    "represent the corresponding actions. For the actions, they must be one of {actions}."
)
_RESULTS = (
    " When generating the actions, please also attach the action's results contained in the natural language plans."
    " No subgoal may state the result of its own actions."
)
_IMAGE = " The image of the last task is shown: the results of 'VQA' are what is to be seen on it."
_LOW = " Every subgoal must have exactly one action."
_TAIL = (
    "Now please help us generate a plan consisting of subgoals according to the following instruction and its natural "
    "language plan!\n\n"
)
_AGAIN = (
    "That is not accepted:\n{problems}\n"
    "Please write the whole subgoal-based plan again, with these problems mended, in the same format and without "
    "further words."
)
_WAITING = (
    "Draft of the subgoal-based plan, which a rule has written and which may be wrong:\n{draft}\n\n"
    "The rule is unsure of its draft: {doubt}\n\n"
    "Please write the whole subgoal-based plan, corrected where the draft is wrong. Every number in an action must be "
    "in the task, or be the result of an earlier action (then write R1, R2, ...), or be a constant whose unit its "
    "subgoal names, such as the 60 minutes of an hour. A later action must use each result but the last. Write each "
    "subgoal in your own words, without blanks. Write nothing but the plan."
)
WAITING_PROMPTS = 1  #: the newest version of the prompt for waiting rows
#: The actions that each type of prompt offers.
OFFERED = {
    "maths": "'Calculator', 'SetEquation', 'SolveEquation', 'Count', 'SolveInequality', and 'Define'",
    "maths_code": "'Calculator', 'SetEquation', 'SolveEquation', 'Count', 'SolveInequality', 'Code', and 'Define'",
    "qa": "'KnowledgeQuery', 'ParagraphRetrieve', 'QA', 'Calculator' and 'Code'",
    "web": "'TYPE', 'CLICK', and 'SELECT'",
    "multimodal": "'QA', 'VQA'",
    "sql": "SQL operations, each written as R[number] = (operation)",
}
WITHOUT_RESULTS = ("web", "sql")  #: prompts whose actions state no result

_FRAMING = FRAMINGS["train"]
_MARKER = re.compile(r"<\|(system|user|assistant)\|>|</s>")
_SET = re.compile(r"Action [0-9]+-[0-9]+:\s*((?:R[0-9]+|Output)(?:, (?:R[0-9]+|Output))*)\s*=")
#: The beginning of a refusal; only searched in replies without any subgoal.
_REFUSAL = re.compile(
    r"\b(?:i (?:can(?:no|')?t|am (?:not able|unable)|won't)|i'm (?:sorry|unable|not able)|unable to"
    r"|cannot (?:help|assist)|as an ai)\b|invalid request|content (?:filter|policy)",
    re.IGNORECASE,
)
_REFUSAL_CHARACTERS = 300


def prompt_head(prompt: str, subgoals: str, sees: bool = False) -> str:
    """Return the common beginning of all prompts of a job, up to the task. `prompt` is the type of prompt.

    `sees`: whether the teacher is sent the row's image. Raises SpecError for an unknown type or kind of subgoals.
    """
    examples = demos.demos_for(prompt, subgoals)
    instruction = _HEAD.format(actions=OFFERED[prompt])
    if prompt not in WITHOUT_RESULTS:
        instruction += _RESULTS
    if sees:
        instruction += _IMAGE
    if subgoals == "low":
        instruction += _LOW
    example_text = "".join(
        f"Example {number}:\nTask: {demo.task}\n\nNatural language plan:\n{demo.plan}\n\n"
        f"Subgoal-based plan:\n{demo.annotation_text.strip()}\n\n\n"
        for number, demo in enumerate(examples, start=1)
    )
    return f"<|system|>\n{SYSTEM}\n<|user|>\n{instruction}\n\n{example_text}{_TAIL}Task: "


def first_prompt(head: str, task: Task, plan: str) -> str:
    """Return the first prompt for a row: `head`, its task, and `plan`, its rationale as text."""
    question, plan = escape_markers(task.question).strip(), escape_markers(plan).rstrip()
    return f"{head}{question}\n\nNatural language plan: {plan}\n<|assistant|>\n"


def draft_prompt(head: str, task: Task, plan: str, draft: Draft) -> str:
    """Return the first prompt for a row that waits, version 1: as `first_prompt`, with the draft and the doubt.

    Jobs store the version (WAITING_PROMPTS): a prompt with other words is another version, and this one stays.
    """
    question, plan = escape_markers(task.question).strip(), escape_markers(plan).rstrip()
    request = _WAITING.format(draft=escape_markers(draft.annotation).strip(), doubt=escape_markers(draft.doubt).strip())
    return f"{head}{question}\n\nNatural language plan: {plan}\n\n{request}\n<|assistant|>\n"


def next_prompt(prompt: str, reply: str, verdicts: Sequence[Verdict]) -> str:
    """Return the next prompt: the earlier prompt, its reply, and a request to correct the problems in the verdicts."""
    problems = dict.fromkeys(
        f"- {verdict.name}" + (f": {verdict.detail}" if verdict.detail else "") for verdict in verdicts
    )
    again = Turn("user", _AGAIN.format(problems=escape_markers("\n".join(problems))))
    return prompt + _FRAMING.write(Turn("assistant", escape_markers(reply))) + _FRAMING.write(again)


def escape_markers(text: str) -> str:
    """Return the text with escaped role markers: `<|user|>` becomes `<| user |>`, `</s>` becomes `< /s>`."""
    return _MARKER.sub(lambda match: f"<| {match[1]} |>" if match[1] else "< /s>", text)


@dataclass(frozen=True, slots=True)
class TeacherReply:
    """The content of a reply. `verdicts` are the problems of its form."""

    steps: tuple[AnnotatedSubgoal, ...]
    verdicts: tuple[Verdict, ...] = ()
    unread: frozenset[str] = frozenset()  #: variables that unreadable lines set


def read_reply(completion: Completion, results: bool) -> TeacherReply:
    """Read the annotation in a reply. `results`: whether its actions must state results.

    The verdict `refused` is for an empty reply, which content filters return, and for one that has no subgoal and
    begins with an excuse. `truncated` is for a reply that ended at the token limit or within its reasoning; then
    nothing else is judged.
    """
    text = re.sub(r"^```\w*\s*$", "", completion.text, flags=re.MULTILINE)
    steps, issues = read_annotation(text, results)
    if completion.finish_reason == FinishReason.LENGTH:
        return TeacherReply(steps, tuple(make_verdicts("truncated", f"after {completion.completion_tokens} tokens")))
    if completion.is_only_reasoning:
        return TeacherReply((), tuple(make_verdicts("truncated", "the reply ended within its reasoning")))
    if not text.strip() or (not steps and _REFUSAL.search(text[:_REFUSAL_CHARACTERS])):
        return TeacherReply((), tuple(make_verdicts("refused", text.strip()[:120] or "an empty reply")))
    unread = (variable for issue in issues if (match := _SET.match(issue.line)) for variable in match[1].split(", "))
    return TeacherReply(steps, tuple(issue_verdicts(issues)), frozenset(unread))
