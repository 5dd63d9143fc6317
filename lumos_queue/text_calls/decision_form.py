"""The ways in which the steps of a tool agent contain its decisions."""

from __future__ import annotations

from enum import Enum, auto


class DecisionForm(Enum):
    """How stored steps are read as decisions (compat/toolbench/stored_steps.py). Which steps are *first* is a role."""

    SEARCH = auto()  #: each reply of the first role is a decision; steps name their parents
    CHAIN = auto()  #: each reply of the first role is a decision that follows the decision before it
    PLAN = auto()  #: the first role plans calls, each of which is a decision; the reply of another role is the answer
