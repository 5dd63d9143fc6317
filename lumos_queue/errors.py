"""The tree of errors, and who sees each.

LumosError
├── SpecError             the person: one line that names the value, what was expected and what to do; exit code 2
│   └── BadRow            the person: a row of their file that cannot be read (row number, field)
├── ActionError           the model: shown as the execution's error; the episode goes on
├── EpisodeError          the episode: it finishes with a named ending; the item is done
├── NeedsAttention        the person: the item is owed again, and its job pauses and says why
│   └── DivergedFit       the same, of weights that are not usable any more
└── InfrastructureError   the worker: the item is owed again
    ├── EndpointDown      the worker: the job waits, and no item is charged
    │   ├── PluginChanged     the same: code of the job is not what its digest says
    │   ├── EndpointRefused   a SpecError too: the same, and one line for a person who asks
    │   └── EndpointNotReady  the same, while a server cannot work yet: who submits a job waits for it
    ├── RowFailed         the worker: the item is tried again after the others, and ends when it fails each time
    ├── Undecided         the worker: the item is owed again in a while, and not charged
    ├── Unanswered        the worker: the item waits for a person, and is not charged
    └── AwaitsJob         the worker: the job waits for another one, and no item is charged
"""

from __future__ import annotations

from collections.abc import Iterable

from lumos_queue.records import Ending


class LumosError(Exception):
    """Base of every error this project raises on purpose.

    >>> import lumos_queue as lq
    >>> try:
    ...     lq.evaluate("wordmth")
    ... except lq.LumosError as error:
    ...     print(str(error)[:30])
    No benchmark called 'wordmth'.
    """


class SpecError(LumosError):
    """Raised when a request cannot be carried out as written.

    >>> import lumos_queue as lq
    >>> lq.evaluate("wordmath", limit=-1)
    Traceback (most recent call last):
    lumos_queue.errors.SpecError: limit is -1: expected a whole number from 0 to 2,147,483,647.
    """


class BadRow(SpecError):
    """Raised when one row of a data file cannot be read; `row` counts from 1.

    `leave_out`: published files have such rows, which cannot be fixed, so the others are used without asking.

    >>> import lumos_queue as lq
    >>> lq.evaluate("gsm8k", rows=["What is 2 + 3?"], formulation="direct", solver=lambda prompt: "5")
    Traceback (most recent call last):
    lumos_queue.errors.BadRow: row 1: expected a Task or a mapping, found str
    """

    def __init__(self, row: int, field: str, problem: str, leave_out: bool = False):
        self.row, self.field, self.problem, self.leave_out = row, field, problem, leave_out
        super().__init__(f"row {row}, field '{field}': {problem}" if field else f"row {row}: {problem}")


class ActionError(LumosError):
    """Raised when an action cannot give a result; `kind` is a short stable name, counted in reports.

    >>> import lumos_queue as lq
    >>> str(lq.ActionError("undefined", "division by zero"))
    'division by zero'
    """

    def __init__(self, kind: str, message: str):
        self.kind = kind
        super().__init__(message)


class EpisodeError(LumosError):
    """Raised when an episode cannot go on; `ending` names the reason."""

    def __init__(self, ending: Ending, message: str):
        self.ending = ending
        super().__init__(message)


class PluginFault(LumosError):
    """Raised when code of others does not do what it has to: it ends the episode, which a corrected plug-in resumes."""


class NeedsAttention(LumosError):
    """Raised when a job cannot go on before a person has done something: the item stays owed and the job pauses.

    >>> import lumos_queue as lq
    >>> def wait_for(job):
    ...     try:
    ...         return job.wait()
    ...     except lq.NeedsAttention as error:  # a plan waits for approval
    ...         print(error)
    """


class DivergedFit(NeedsAttention):
    """Raised when the weights of a fit are not usable any more (NaN)."""


class InfrastructureError(LumosError):
    """Raised when something other than the model and the task failed; trying again later may succeed.

    `retry_after` is the number of seconds the other side asked for, if it did.

    >>> import lumos_queue as lq
    >>> lq.list_jobs(deployment=lq.Settings(database_url="postgresql://127.0.0.1:1/nothing"))
    Traceback (most recent call last):
    lumos_queue.errors.InfrastructureError: The database at postgresql+psycopg://127.0.0.1:1/nothing does not answer...
    """

    def __init__(self, message: str, retry_after: float | None = None):
        self.retry_after = retry_after
        super().__init__(message)


class EndpointDown(InfrastructureError):
    """Raised when no replica of an endpoint can be asked: the job waits, no item is charged.

    The message names host, status, cause and remedy in one line. `status` is the HTTP status of the latest answer,
    0 when there was none.

    >>> import lumos_queue as lq
    >>> class Abacus(lq.SimpleEndpoint):
    ...     async def reply(self, prompt, sampling):
    ...         raise lq.EndpointDown("abacus: somebody uses it. Wait until it is free.")
    """

    def __init__(self, message: str, retry_after: float | None = None, status: int = 0):
        self.status = status
        super().__init__(message, retry_after)


class PluginChanged(EndpointDown):
    """Raised when a plug-in imports a file that its digest does not cover: the job waits, no item is charged."""


class EndpointRefused(SpecError, EndpointDown):
    """Raised when an endpoint that is asked who it is answers with a status other than 2xx."""


class EndpointNotReady(SpecError, EndpointDown):
    """Raised when an endpoint that is asked who it is answers with a 5xx, as a server does while its model loads."""


class RowFailed(InfrastructureError):
    """Raised when a server fails each try of a request while it answers others."""


class NotSent(InfrastructureError):
    """Raised when a request still waited for a slot at its endpoint as its slice ended: nothing was sent."""


class Undecided(InfrastructureError):
    """Raised when a server refuses a request, and nothing tells whether the fault is the request's or its own.

    `status` is the HTTP status; the message is as EndpointDown's.
    """

    def __init__(self, message: str, status: int):
        self.status = status
        super().__init__(message)


class Unanswered(InfrastructureError):
    """Raised when an episode needs a person's answer that is not there yet."""


class AwaitsJob(InfrastructureError):
    """Raised when an item needs the results of another job, which is open: `job` is its id."""

    def __init__(self, message: str, job: str):
        self.job = job
        super().__init__(message)


def unknown(kind: str, value: str, choices: Iterable[str]) -> SpecError:
    """The error for a name that is not one of the choices: names the value, suggests the nearest, lists them all."""
    names = sorted(choices)
    suggestion = suggest(value, names)
    return SpecError(f"No {kind} called '{value}'. {suggestion}Choose one of: {', '.join(names)}.")


def suggest(value: str, choices: Iterable[str]) -> str:
    """`Did you mean 'evaluate'? `, with a space at its end, for a name that is much like a choice, else ''."""
    nearest = find_nearest(value, choices)
    return f"Did you mean '{nearest}'? " if nearest else ""


def find_nearest(value: str, choices: Iterable[str]) -> str:
    """The choice that is most like a text, in which `_` is as good as `-`; empty where none is much like it."""
    from difflib import get_close_matches

    plain = {choice.casefold().replace("_", "-"): choice for choice in choices}
    matches = get_close_matches(value.casefold().replace("_", "-"), plain, n=1, cutoff=0.65)
    return plain[matches[0]] if matches else ""
