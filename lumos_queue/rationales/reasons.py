"""The reasons why a row's gold solution cannot be converted: short names, which are stored and counted in reports."""

from __future__ import annotations

from lumos_queue.errors import SpecError

REASONS = {
    "no_mark": "the solution has no calculator mark",
    "mark_not_last": "a calculator mark states the gold answer, but later marks follow",
    "mark_wrong": "a calculator mark does not evaluate to the value it states",
    "copied": "a step only states a number that neither the question nor an earlier result gives",
    "unreadable_expression": "something that is no plain arithmetic: units in words, a comparison, an unknown",
    "remainder": "a division with remainder",
    "division_by_zero": "an expression divides by zero",
    "rounded": "the program's value is within 0.1 % of the gold answer, which was rounded",
    "value_differs": "the program's value is not the gold answer",
    "too_large": "hundreds of actions, or a number of thousands of digits",
    "answer_is_text": "the gold answer is no single number",
    "no_rationale": "the row states no rationale",
    "no_image": "the teacher is to see the row's image, and the row has none",
    "no_caption": "the teacher is to read the caption of the row's image, and the row has none",
    "no_rule": "this source has no conversion by rule: it needs a teacher",
    "unanswerable": "the row says that its question cannot be answered",
    "no_support": "the row does not say on which paragraphs its answer rests",
    "no_evidence": "for every annotator some step has no evidence",
    "no_step_answer": "an intermediate step has no answer that can be told from the row",
    "unclear_fact": "no fact of the row answers a step clearly better than the others: it needs a teacher",
    "unnamed_step": "no rule parts the question into steps that say what they seek: it needs a teacher",
    "undefined_step": "a step refers to one that does not come before it",
    "incomplete": "the recorded actions do not reach the end of the task",
    "unreadable_action": "a recorded action has another form than `[role]  text -> OP: value`",
    "unreadable_plan": "a step of the plan has another form than `Plan: … #E1 = Tool[input]`",
    "unknown_tool": "the plan calls a tool for which there is no action here",
    "unreadable_sql": "the query is no single SELECT, or cannot be parsed",
    "not_low_level": "a step that cannot be split into single operations of the Calculator",
    "unwritable": "a text that annotation lines cannot hold: parentheses that do not close, or a variable's name",
}


class NotConvertible(SpecError):
    """Raised for a row that cannot be converted. `reason` is a key of REASONS, and the text of the exception."""

    def __init__(self, reason: str):
        if reason not in REASONS:
            raise ValueError(f"no reason called '{reason}'")
        self.reason = reason
        super().__init__(reason)
