"""An agent: the endpoint of each role, the domain of the actions, the sampling, and the limits."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from lumos_queue.commands import digest
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.endpoints.base import Sampling
from lumos_queue.endpoints.urls import CHAT_SCHEMES, scheme_of
from lumos_queue.limits import Limits
from lumos_queue.prompts.demonstrations import list_answers, show_answers, show_plans, show_steps
from lumos_queue.prompts.dialogue import Dialogue
from lumos_queue.records import Task
from lumos_queue.scoring.answer_kinds import AnswerKind
from lumos_queue.scoring.limit import AtLimit


@dataclass(frozen=True, slots=True)
class Agent:
    """An agent: roles with their endpoints, a domain, sampling and limits. Its digest is part of a job's digest."""

    roles: Mapping[str, str]  #: role to endpoint URL: of the formulation, its actions' tools and the judge
    domain: str  #: whose actions and wording, e.g. 'maths'
    framing: str = "train"  #: how turns are written down: see dialogue.py
    sampling: Sampling = field(default_factory=Sampling)
    max_subgoals: int = 8  #: the iterative formulation's limit
    tools: Mapping[str, str] = field(default_factory=dict)  #: options of the domain's actions, checked (`prepare`)
    shots: int = 0  #: demonstrations in front of each conversation: the domain's first ones
    answer_by: str = "last"  #: what the answer is: the value of the 'last' variable, or what 'qa' makes of all answers
    at_limit: str = ""  #: what an answer at the limit is worth (limit.py); '': what it is in the domain
    #: role to sha256, where the weights are at hand (`local:`)
    weights: Mapping[str, str] = field(default_factory=dict)
    # What follows is stored only where it was asked for: agents of before have no such fields.
    samplings: Mapping[str, Sampling] = field(default_factory=dict)  #: of roles that are not sampled as the others are
    limits: Limits = field(default_factory=Limits)
    settings: Mapping[str, str] = field(default_factory=dict)  #: of the formulation, checked (Formulation.settings)
    system: str | None = None  #: the system message of a solver; '': none; None: the instruction of the formulation
    prompt: str = ""  #: the template of a solver's prompt, in place of the formulation's own
    reader: str = ""  #: how the answer is read from a solver's reply (scoring/answer_readers.py); '': the default
    #: What the benchmark's answers are. A job (`Infer`) sets it for its episodes; it is never stored.
    answers: AnswerKind = AnswerKind.TEXT

    def __post_init__(self) -> None:
        """Set `at_limit` to the domain's default, so that a stored agent names it."""
        if not self.at_limit:
            domain = DOMAINS.find(self.domain)
            at_limit = domain.at_limit if domain else AtLimit.WRONG
            object.__setattr__(self, "at_limit", at_limit)

    def dialogue(self, task: Task, whole_plans: bool = False) -> Dialogue:
        """Return the conversations of an episode. Demonstrations precede them, of whole plans if `whole_plans`."""
        show = show_plans if whole_plans else show_steps
        return Dialogue(task, self.domain, self.framing, show(self.domain, self.framing, self.shots))

    def answers_shown(self, reasoned: bool) -> str:
        """Return the demonstrations for a model that answers alone. `reasoned`: whether their answers give reasons."""
        return show_answers(self.domain, self.framing, self.shots, reasoned)

    def examples_shown(self, reasoned: bool) -> str:
        """Return the demonstrations of `answers_shown` as plain text, for a template."""
        return list_answers(self.domain, self.shots, reasoned)

    def subgoal_numbers(self) -> range:
        return range(1, self.max_subgoals + 1)

    def is_chat(self, role: str) -> bool:
        """Whether the role's endpoint is a chat server, whose model needs instructions and writes Markdown."""
        return scheme_of(self.roles.get(role, "")) in CHAT_SCHEMES

    def as_json(self) -> dict[str, Any]:
        """Return the stored form. It has `at_limit` only if an answer at the limit counts; older agents have none."""
        fields = asdict(self) | {"sampling": self.sampling.as_json(), "limits": self.limits.as_json()}
        del fields["answers"]
        fields["samplings"] = {role: sampling.as_json() for role, sampling in self.samplings.items()}
        if self.at_limit == AtLimit.WRONG:
            del fields["at_limit"]
        for name in ("samplings", "limits", "settings", "prompt", "reader"):
            if not fields[name]:
                del fields[name]
        if fields["system"] is None:
            del fields["system"]
        return fields

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> Agent:
        read: dict[str, Any] = {"at_limit": AtLimit.WRONG}  # agents stored before there was a choice name none
        read |= {**value, "sampling": Sampling.from_json(value["sampling"])}
        read["samplings"] = {
            role: Sampling.from_json(sampling) for role, sampling in value.get("samplings", {}).items()
        }
        read["limits"] = Limits.from_json(value.get("limits", {}))
        return cls(**read)

    @property
    def digest(self) -> str:
        return digest("agent", json.dumps(self.as_json(), sort_keys=True))
