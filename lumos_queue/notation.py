"""Convert LUMOS text to records and back: replies of planner and grounder, and annotations (spec/lumos.md 2 and 4).

Reading never raises. A text that is not an action becomes an Action with `variables == ()`, which the executor reports.
This module does not know the meaning of actions.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace

from lumos_queue.records import Action, AnnotatedSubgoal, Subgoal

KEEP_PLANNING = "No, I will keep planning."
STOP_PLANNING = "Yes, I will stop planning."

#: Name of the action that represents the surplus actions of a reply, and status of its execution.
TOO_MANY = "too_many_actions"
#: Name of the action that represents a repeated action, which is not run, and status of its execution.
REPEATED = "repeated"

VARIABLE = r"(?:R[0-9]{1,6}|Output)"  #: pattern of a variable
_VARIABLES = rf"{VARIABLE}(?:,\s*{VARIABLE})*"
_ASSIGNMENT = re.compile(rf"({_VARIABLES})\s*=(?!=)\s*(\S.*)", re.DOTALL)
_BETWEEN_ACTIONS = re.compile(rf";\s+(?={_VARIABLES} = )")
_BETWEEN_SUBGOALS = re.compile(r";\s+(?=Subgoal [0-9]+:)")
_LABEL = re.compile(r"Subgoal [0-9]+:\s*")
_NUMBER = r"-?[0-9][0-9,]*(?:\.[0-9]+)?(?:/[0-9]+)?%?"
_LITERAL = re.compile(_NUMBER)
_OPERAND = re.compile(rf"({VARIABLE}|{_NUMBER})\.?(?:\s*=\s*(.*))?", re.DOTALL)
_ROLE = re.compile(r"<\|(?=(?:system|user|assistant)\|>)")
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_NAMED_VARIABLE = re.compile(VARIABLE)
#: A whole variable: R1 is not in R10, nor in R2D2; `2R1` is 2 times R1.
_WHOLE_VARIABLE = re.compile(r"(?<![A-Za-z_])R[0-9]{1,6}(?![A-Za-z0-9_])")
_SUBGOAL_LINE = re.compile(r"Subgoal ([0-9]+):")
_ACTION_LINE = re.compile(r"Action ([0-9]+)-([0-9]+):\s*(.*)", re.DOTALL)


def without_roles(text: str) -> str:
    """Return the text with broken role marks, so that text of a page, a tool or a model never begins a new turn."""
    return _ROLE.sub("< |", text) if "<|" in text else text


# --- replies of the planner -------------------------------------------------------------------------------------------


def says_stop(reply: str) -> bool:
    """Whether a planner's reply contains the stop phrase."""
    return STOP_PLANNING.rstrip(".") in reply


def read_subgoal(reply: str, number: int) -> Subgoal | None:
    """Return the subgoal in a planner's reply, or None if it is empty. Any text is a subgoal, and keeps its label."""
    text = reply.strip().removeprefix(KEEP_PLANNING).strip()
    return Subgoal(number, text) if text else None


def write_subgoal(subgoal: Subgoal) -> str:
    """Return the planner's reply that is read as this subgoal."""
    return subgoal.text if subgoal.number == 1 else f"{KEEP_PLANNING} {subgoal.text}"


def read_plan(reply: str) -> tuple[Subgoal, ...]:
    """Return the subgoals of a one-pass plan, numbered in order. A text without labels is one subgoal."""
    pieces = (piece.strip() for piece in _BETWEEN_SUBGOALS.split(reply))
    return tuple(Subgoal(number, piece) for number, piece in enumerate(filter(None, pieces), start=1))


def write_plan(subgoals: Iterable[Subgoal]) -> str:
    return "; ".join(subgoal.text for subgoal in subgoals)


def strip_label(text: str) -> str:
    """Return a subgoal's text without its label `Subgoal 2: `."""
    label = _LABEL.match(text)
    return text[label.end() :] if label else text


# --- replies of the grounder ------------------------------------------------------------------------------------------


def read_actions(reply: str, calls: bool = True, most: int = 0) -> tuple[Action, ...]:
    """Return the actions of a grounder's reply, in order. `; ` only separates actions before `R1 = ` or `R1, R2 = `.

    Without `calls` the whole text after `R1 = ` is the action's arguments, as in SQL. `most`: the maximum number of
    actions that are read; if there are more, a further Action named TOO_MANY, without variables, has their number.

    >>> import lumos_queue as lq
    >>> [action.name for action in lq.read_actions("R1 = Calculator(2 + 3); R2 = Calculator(R1 * 2)")]
    ['Calculator', 'Calculator']
    """
    first, rest = _BETWEEN_ACTIONS.split(reply.strip().rstrip(";"), maxsplit=most), ""
    if most and len(first) > most:
        rest = first.pop()
    actions = [read_action(piece, calls) for piece in map(str.strip, first) if piece]
    if rest:
        actions.append(represent_rest(most + 1 + sum(1 for _ in _BETWEEN_ACTIONS.finditer(rest)), rest))
    return tuple(actions)


def represent_rest(count: int, rest: str) -> Action:
    """Return an action that represents a reply's surplus actions. `count`: of all actions; `rest`: the surplus text."""
    return Action((), TOO_MANY, f"{count:,} actions", f"{rest[:80]}…")


def read_action(piece: str, calls: bool = True) -> Action:
    """Return the action in a text. If the text is no action, the Action has no variables."""
    assignment = _ASSIGNMENT.fullmatch(piece)
    if not assignment:
        return Action((), "", piece, piece)
    if not calls:
        return Action(_split_variables(assignment[1]), "", assignment[2].strip(), piece)
    name, arguments, _ = _read_right_side(assignment[2])
    return Action(_split_variables(assignment[1]), name, arguments, piece)


def _split_variables(text: str) -> tuple[str, ...]:
    return tuple(variable.strip() for variable in text.split(","))


def _read_right_side(text: str) -> tuple[str, str, str | None]:
    """Return an action's name, arguments and the text after them, which is None if the closing parenthesis is missing.

    A text that is no call, variable or number becomes the arguments of an action without a name; nothing is lost.
    """
    operand = _OPERAND.fullmatch(text)
    if operand:
        return "", operand[1], f" = {operand[2]}" if operand[2] else ""
    before, parenthesis, _ = text.partition("(")
    name = before.strip()
    if not parenthesis or (name and not _NAME.fullmatch(name)):
        return "", text, ""
    start = len(before) + 1
    end = find_closing(text, start)
    if end is None:
        return name, text[start:], None
    after = text[end + 1 :]
    if not name and not _is_tail(after):  # (R1) + (R2)
        return "", text, ""
    if _NAMED_VARIABLE.fullmatch(name):  # R3(n=5): the expression R3 with n set, not an action called R3
        return "", text[: end + 1], after
    return name, text[start:end], after


def find_closing(text: str, start: int) -> int | None:
    """Return the index of the parenthesis that closes the parenthesis before `start`, or None if there is none."""
    depth = 1
    for position in range(start, len(text)):
        if text[position] == "(":
            depth += 1
        elif text[position] == ")":
            depth -= 1
            if depth == 0:
                return position
    return None


def _is_tail(after: str) -> bool:
    """Whether the text may follow a call: it is empty, a full stop or ` = result`."""
    after = after.strip()
    return after in ("", ".") or after.startswith("=")


def write_action(action: Action, calls: bool = True) -> str:
    """Return `R1, R2 = Name(arguments)` or, without `calls`, `R1 = arguments`; for an unreadable action, its text."""
    if not action.variables:
        return action.arguments
    if not calls and not action.name:
        return f"{', '.join(action.variables)} = {action.arguments}"
    return f"{', '.join(action.variables)} = {action.name}({action.arguments})"


def write_actions(actions: Iterable[Action], calls: bool = True) -> str:
    return "; ".join(write_action(action, calls) for action in actions)


def variables_in(text: str) -> tuple[str, ...]:
    """Return the variables in a text, each once, in order of first use."""
    return tuple(dict.fromkeys(_WHOLE_VARIABLE.findall(text)))


def replace_variables(text: str, value_of: Callable[[str], str]) -> str:
    """Replace all variables of a text at once by their values. Variables within the values are not replaced."""
    return _WHOLE_VARIABLE.sub(lambda match: value_of(match[0]), text)


# --- annotations ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Issue:
    """A format error of an annotation."""

    reason: str  #: a short stable name, counted in reports
    line: str  #: the line, or the subgoal


def read_action_line(line: str) -> tuple[Action, str] | Issue:
    """Return action and result of a line `Action 1-2: R2 = G(R1) = result`, or an Issue. A missing result is ''.

    For `R1 = 5` the result is 5. A full stop after the call is no result; a full stop at the result's end stays.
    """
    match = _ACTION_LINE.fullmatch(line.strip())
    if not match:
        return Issue("no action label", line)
    assignment = _ASSIGNMENT.fullmatch(match[3])
    if not assignment:
        return Issue("no assignment", line)
    name, arguments, after = _read_right_side(assignment[2])
    if after is None or after.startswith(")") or (not name and find_closing(f"{arguments})", 0) != len(arguments)):
        return Issue("mismatched parenthesis", line)
    if not _is_tail(after):
        return Issue("text after the call", line)
    after = after.strip()
    result = after[1:].strip() if after.startswith("=") else ""
    if not result and not name and _LITERAL.fullmatch(arguments):
        result = arguments
    return Action(_split_variables(assignment[1]), name, arguments, match[3]), result


def format_result(result: str) -> str:
    """Return a result as the planner gets it: without a full stop at its end. `.5` keeps its dot, unlike in LUMOS."""
    return result.strip().rstrip(".")


def read_annotation(text: str, results: bool = True) -> tuple[tuple[AnnotatedSubgoal, ...], tuple[Issue, ...]]:
    """Read an annotation line by line, and return its steps and issues. Without issues it can be used for training.

    `results`: whether actions must have results (web actions have none). Text before the first subgoal is ignored.
    """
    steps: list[tuple[Subgoal, list[Action], list[str]]] = []
    issues: list[Issue] = []
    for line in filter(None, (line.strip() for line in text.split("\n"))):
        if heading := _SUBGOAL_LINE.match(line):
            subgoal = Subgoal(len(steps) + 1, line)
            if heading[1] != str(subgoal.number):
                issues.append(Issue("subgoal out of order", line))
            steps.append((subgoal, [], []))
        elif match := _ACTION_LINE.fullmatch(line):
            if not steps:
                issues.append(Issue("action before any subgoal", line))
                continue
            subgoal, actions, its_results = steps[-1]
            if match.group(1, 2) != (str(subgoal.number), str(len(actions) + 1)):
                issues.append(Issue("action out of order", line))
            reading = read_action_line(line)
            if isinstance(reading, Issue):
                issues.append(reading)
                continue
            actions.append(reading[0])
            its_results.append(reading[1])
            if results and not reading[1]:
                issues.append(Issue("missing result", line))
        elif steps:
            issues.append(Issue("unlabelled line", line))
    issues += [Issue("subgoal without actions", subgoal.text) for subgoal, actions, _ in steps if not actions]
    if not steps:
        issues.append(Issue("no subgoals", text[:80]))
    return tuple(AnnotatedSubgoal(subgoal, tuple(a), tuple(r)) for subgoal, a, r in steps), tuple(issues)


def write_annotation(steps: Iterable[AnnotatedSubgoal]) -> str:
    """Return the steps as annotation text, with blank lines between subgoals. Line breaks in texts become spaces."""
    return "\n\n".join("\n".join(_annotation_lines(step)) for step in steps)


def _annotation_lines(step: AnnotatedSubgoal) -> Iterator[str]:
    number = step.subgoal.number
    yield _one_line(f"Subgoal {number}: {strip_label(step.subgoal.text)}")
    for number_within, (action, result) in enumerate(zip(step.actions, step.results, strict=True), start=1):
        alias = not action.name and _OPERAND.fullmatch(action.arguments)
        call = f"{', '.join(action.variables)} = {action.arguments}" if alias else write_action(action)
        yield _one_line(f"Action {number}-{number_within}: {call}" + (f" = {result}" if result else ""))


def _one_line(text: str) -> str:
    return " ".join(text.splitlines())


def name_output(steps: Iterable[AnnotatedSubgoal]) -> tuple[AnnotatedSubgoal, ...]:
    """Return the steps with `Output` renamed to the variable that follows the previous subgoal's last variable.

    Iterative files have this form. If `Output` is in the same subgoal as that variable, the result is `R2 = (R2)`.
    """
    renamed_steps, last = [], 0
    for step in steps:
        final = f"R{last + 1}"
        actions = tuple(
            replace(action, variables=tuple(final if v == "Output" else v for v in action.variables))
            for action in step.actions
        )
        renamed_steps.append(replace(step, actions=actions))
        if actions and actions[-1].variables:
            last = int(actions[-1].variables[-1][1:])
    return tuple(renamed_steps)
