"""Policies for a plan that names an expert twice in one branch, or in the tail."""

from __future__ import annotations

from lumos_queue.experts.plans import Plan

DEDUPE = "dedupe_first"
REJECTED = " (duplicates=reject)"  #: the end of the message of a rejected plan
DUPLICATES = {
    "keep": "the plan stays as it is, and is not feasible",
    DEDUPE: "only the first of them stays, as in OpenAGI's code",
    "reject": "the plan is rejected as repeating it, whatever else is wrong with it",
}


def apply_policy(plan: Plan, policy: str) -> tuple[Plan, str]:
    """Return the plan after the policy (a key of DUPLICATES), and why the plan is rejected, or ''."""
    segments = (*plan.branches, plan.tail)
    if policy == DEDUPE:
        *branches, tail = (tuple(dict.fromkeys(segment)) for segment in segments)
        return Plan(tuple(branches), tail), ""
    if policy == "reject":
        for segment in segments:
            for name in segment:
                if segment.count(name) > 1:
                    return plan, f"'{name}' is repeated{REJECTED}"
    return plan, ""
