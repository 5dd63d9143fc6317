"""Check the form of an annotation: yield verdicts on everything that can be judged before actions are executed."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence

from lumos_queue.benchmarks.base import Benchmark
from lumos_queue.conversion.lengths import CountTokens, conversation_tokens
from lumos_queue.conversion.verdicts import make_verdicts
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.notation import Issue, variables_in
from lumos_queue.rationales.maths.copied_numbers import find_copied_numbers
from lumos_queue.rationales.maths.stated_results import results_stated
from lumos_queue.records import Action, AnnotatedSubgoal, Task, Verdict

#: Issues of `notation.read_annotation` and their verdicts; any other issue makes a row unreadable.
_ISSUES = {"mismatched parenthesis": "mismatched parenthesis", "missing result": "empty result"}
#: Texts that are not results: an error, or a word for "none".
INVALID = re.compile(
    r"(?:invalid request|error\b|exception\b|traceback\b).*|(?:none|null|nan|undefined|n/a|no answer|unknown)\.?",
    re.IGNORECASE | re.DOTALL,
)
_SYMBOLIC = re.compile(r"(?:WikipediaPage|Paragraph)\(")
_ANSWERS = frozenset(("yes", "no", "true", "false"))
_EXTRACTING = frozenset(("QA", "VQA"))


def issue_verdicts(issues: Sequence[Issue]) -> Iterator[Verdict]:
    """Yield verdicts on the problems that the reader of an annotation's text found."""
    unread = any(issue.reason in ("mismatched parenthesis", "no assignment", "text after the call") for issue in issues)
    for issue in issues:
        if issue.reason == "subgoal without actions" and unread:
            continue  # its action is unreadable, which is another issue
        name = _ISSUES.get(issue.reason, "unreadable")
        yield from make_verdicts(name, issue.line if name == issue.reason else f"{issue.reason}: {issue.line[:80]}")


def form_verdicts(
    source: Benchmark,
    task: Task,
    steps: Sequence[AnnotatedSubgoal],
    max_tokens: int,
    count: CountTokens,
    unread: Collection[str] = (),
) -> Iterator[Verdict]:
    """Yield the verdicts on the form of an annotation. `unread`: the variables that unreadable lines set."""
    yield from _action_verdicts(source.domain, steps, unread)
    if source.domain == "maths":
        for action in find_copied_numbers(steps, task.question):
            yield from make_verdicts("copied", _name(action))
    facts = _normalize(source.facts(task))
    for step in steps:
        for action, result in zip(step.actions, step.results, strict=True):
            if INVALID.fullmatch(result.strip()):
                yield from make_verdicts("invalid result", f"{_name(action)} = {result[:80]}")
            elif facts and not _is_supported(result, action, facts, task, source):
                yield from make_verdicts("result not in facts", f"{_name(action)} = {result[:80]}")
        for result in results_stated(step, task.question):
            yield from make_verdicts("result stated", f"Subgoal {step.subgoal.number} says {result[:80]}")
    for module, length in conversation_tokens(task.question, source.domain, steps, count).items():
        if length > max_tokens:
            yield from make_verdicts("overlong", f"{length} tokens, at most {max_tokens}", (module,))


def _action_verdicts(domain: str, steps: Sequence[AnnotatedSubgoal], unread: Collection[str]) -> Iterator[Verdict]:
    known_variables, names = set(unread), DOMAINS.load(domain).action_names
    for action in (action for step in steps for action in step.actions):
        if action.name and names and action.name not in names:
            yield from make_verdicts("unknown action", action.name)
        for variable in variables_in(action.arguments):
            if variable not in known_variables:
                yield from make_verdicts("undefined reference", f"{variable} in {_name(action)}")
        known_variables.update(action.variables)


def _is_supported(result: str, action: Action, facts: str, task: Task, source: Benchmark) -> bool:
    """Whether a result needs no support, is the gold answer, or is in the facts or the question, whole or in parts."""
    text = _normalize(result)
    if action.name not in _EXTRACTING or text in _ANSWERS or _SYMBOLIC.match(result) or source.is_right(task, result):
        return True
    known_text = f"{facts} {_normalize(task.question)}"
    return text in known_text or all(part in known_text for part in re.split(r",? and |, ", text))


def _normalize(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")


def _name(action: Action) -> str:
    return f"{', '.join(action.variables)} = {action.name}({action.arguments[:80]})"
