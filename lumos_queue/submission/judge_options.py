"""Define the judge of a person's own file from `--judge`, `--rubric`, `--grades` and `--votes`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from db.kinds.job_kinds import JobKind
from lumos_queue.benchmarks.from_file.definition import JudgeDefinition
from lumos_queue.benchmarks.from_file.rubrics import make_judge
from lumos_queue.endpoints.base import Sampling
from lumos_queue.errors import SpecError
from lumos_queue.prompts.agent import Agent
from lumos_queue.records import Role
from lumos_queue.submission.role_samplings import find_sampling
from lumos_queue.util.regular_file import read_regular_text

SCORER = "judge"  #: the scorer that these options are for
MAX_TOKENS = 512  #: of a judge's reply: a reason and a grade
SAMPLED = 1.0  #: the temperature where several votes are asked for


@dataclass(frozen=True, slots=True)
class JudgeOptions:
    """Options that describe the judge. The values '', None and 0 mean the default."""

    url: str = ""
    rubric: str | None = None  #: the text of the template
    grades: int = 0
    votes: int = 0

    def __bool__(self) -> bool:
        return bool(self.url or self.rubric is not None or self.grades or self.votes)

    @property
    def option_names(self) -> list[str]:
        """The names of the options that have a value."""
        values = {"judge": self.url, "rubric": self.rubric is not None, "grades": self.grades, "votes": self.votes}
        return [name for name, value in values.items() if value]

    @property
    def roles(self) -> list[str]:
        """Return the judge's endpoint as options of a command, `["--role", "judge=URL"]`, or [] without an endpoint."""
        return [f"{Role.JUDGE}={self.url}"] if self.url else []

    def define(self, scorer: str, kind: str = JobKind.EVALUATE) -> JudgeDefinition | None:
        """Return the judge's definition if `scorer` is `judge`, else None. `kind` is the kind of the command.

        Raises SpecError for a rubric, grades or votes that cannot be used, and for options that have no effect.
        """
        if self and (scorer != SCORER or kind != JobKind.EVALUATE):
            requirement = "lumos evaluate" if kind != JobKind.EVALUATE else f"--scorer {SCORER}"
            raise SpecError(f"--{self.option_names[0]} is for {requirement}: leave it out, or use {requirement}.")
        if scorer != SCORER:
            return None
        return make_judge(self.rubric, self.grades or 2, self.votes or 1)


def read_rubric(path: str | Path | None) -> str | None:
    """Return the text of the file of `--rubric`, or None without a path. Raises SpecError if it cannot be read."""
    if path is None:
        return None
    try:
        return read_regular_text(Path(path).expanduser()).removesuffix("\n")
    except OSError as error:
        raise SpecError(f"--rubric: '{path}' cannot be read: {error.strerror}.") from None
    except UnicodeDecodeError:
        raise SpecError(f"--rubric: '{path}' is not UTF-8 text.") from None


def judge_sampling(judge: JudgeDefinition) -> Sampling:
    """Return a judge's default sampling. Several votes are sampled, because greedy votes would all be equal."""
    return Sampling(SAMPLED if judge.votes > 1 else 0.0, max_tokens=MAX_TOKENS, stop=())


def check_judge(judge: JudgeDefinition | None, roles: Sequence[str]) -> None:
    """Raises SpecError if a judge is defined and no pair NAME=URL in `roles` names its endpoint."""
    if judge and not any(pair.startswith(f"{Role.JUDGE}=") for pair in roles):
        raise SpecError(f"The scorer {SCORER} asks a model, and none is named: give --judge URL.")


def check_votes(judge: JudgeDefinition | None, agent: Agent) -> None:
    """Raises SpecError for several votes of a judge that is sampled greedily."""
    if judge and judge.votes > 1 and Role.JUDGE in agent.roles and find_sampling(agent, Role.JUDGE).temperature == 0:
        raise SpecError(
            f"Greedy votes are all equal: give --sampling {Role.JUDGE}.temperature above 0, or leave out --votes."
        )
