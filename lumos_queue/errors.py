"""The tree of errors, with the recipient of each error and the consequence.

LumosError
├── SpecError             the person: one line with the value, the expectation and the remedy; exit code 2
│   └── BadRow            the person: a row of their file that cannot be read (row number, field)
├── ActionError           the model: sent as the execution's error; the episode continues
├── EpisodeError          the episode: it finishes with a named ending; the item is done
├── NeedsAttention        the person: the item is pending again, and its job pauses with the reason
│   └── DivergedFit       the same, when the weights of a fit are unusable
└── InfrastructureError   the worker: the item is pending again
    ├── EndpointDown      the worker: the job waits, and no item is charged
    │   ├── PluginChanged     the same: the job's code differs from its digest
    │   ├── EndpointRefused   the same, and a SpecError: one line for the person
    │   └── EndpointNotReady  the same, while a server starts: a submission waits for it
    ├── RowFailed         the worker: the item is retried after the others, and ends when it fails each time
    ├── UnclearFailure    the worker: the item will be retried after a pause, and is not charged
    ├── DatabaseFailure   the person: a statement fails each time; its job waits with the reason
    │   ├── DatabaseUnavailable  the worker: the same statement is repeated until it succeeds
    │   ├── RowsRefused          the item: it ends, if its rows are refused without the rows of other items
    │   │   └── ConstraintViolated  the same: a key is stored already, or a row that it names is missing
    │   └── PoolTimeout          the person: all connections of this process are in use
    ├── ApprovalPending   the worker: the item waits for a person, and is not charged
    └── WaitsForJob       the worker: the job waits for another job, and no item is charged
"""

from __future__ import annotations

from collections.abc import Iterable

from lumos_queue.records import Ending


class LumosError(Exception):
    """Base class of every error that this project raises on purpose.

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
    lumos_queue.errors.SpecError: limit= is -1: expected a whole number from 0 to 2,147,483,647.
    """


class BadRow(SpecError):
    """Raised when a row of a data file cannot be read; `row` counts from 1.

    `leave_out`: the row is left out without a question, because it is in a published file that nobody can fix.

    >>> import lumos_queue as lq
    >>> lq.evaluate("gsm8k", rows=["What is 2 + 3?"], formulation="direct", solver=lambda prompt: "5")
    Traceback (most recent call last):
    lumos_queue.errors.BadRow: row 1: expected a Task or a mapping, found str
    """

    def __init__(self, row: int, field: str, problem: str, leave_out: bool = False):
        self.row, self.field, self.problem, self.leave_out = row, field, problem, leave_out
        super().__init__(f"row {row}, field '{field}': {problem}" if field else f"row {row}: {problem}")


class ActionError(LumosError):
    """Raised when an action fails. `kind` is a short stable name, which reports count.

    >>> import lumos_queue as lq
    >>> str(lq.ActionError("undefined", "division by zero"))
    'division by zero'
    """

    def __init__(self, kind: str, message: str):
        self.kind = kind
        super().__init__(message)


class EpisodeError(LumosError):
    """Raised when an episode cannot continue; `ending` names the reason."""

    def __init__(self, ending: Ending, message: str):
        self.ending = ending
        super().__init__(message)


class PluginFault(LumosError):
    """Raised when third-party code breaks its contract. The episode ends, and is resumed with a corrected plug-in."""


class NeedsAttention(LumosError):
    """Raised when a job cannot continue until a person acts: the item stays pending and the job pauses.

    >>> import lumos_queue as lq
    >>> def wait_for(job):
    ...     try:
    ...         return job.wait()
    ...     except lq.NeedsAttention as error:  # a plan waits for approval
    ...         print(error)
    """


class DivergedFit(NeedsAttention):
    """Raised when the weights of a fit are unusable (NaN)."""


class InfrastructureError(LumosError):
    """Raised when something other than the model and the task failed; a later retry may succeed.

    `retry_after`: seconds after which the server requested the retry; None if it requested none.

    >>> import lumos_queue as lq
    >>> lq.list_jobs(deployment=lq.Settings(database_url="postgresql://127.0.0.1:1/nothing"))
    Traceback (most recent call last):
    lumos_queue.errors.InfrastructureError: The database at postgresql+psycopg://127.0.0.1:1/nothing does not answer...
    """

    def __init__(self, message: str, retry_after: float | None = None):
        self.retry_after = retry_after
        super().__init__(message)


class EndpointDown(InfrastructureError):
    """Raised when no replica of an endpoint answers: the job waits, and no item is charged.

    The message names host, status, cause and remedy in one line. `status`: HTTP status of the latest answer, 0 without
    an answer.

    >>> import lumos_queue as lq
    >>> class Abacus(lq.SimpleEndpoint):
    ...     async def reply(self, prompt, sampling):
    ...         raise lq.EndpointDown("abacus: somebody uses it. Wait until it is free.")
    """

    def __init__(self, message: str, retry_after: float | None = None, status: int = 0):
        self.status = status
        super().__init__(message, retry_after)


class PluginChanged(EndpointDown):
    """Raised when a plug-in imports a file that its digest does not cover: the job waits, and no item is charged."""


class EndpointRefused(SpecError, EndpointDown):
    """Raised when an endpoint answers the request for its identity with a status other than 2xx."""


class EndpointNotReady(SpecError, EndpointDown):
    """Raised when an endpoint answers the request for its identity with 5xx, as servers do while a model loads."""


class RowFailed(InfrastructureError):
    """Raised when each try of a request fails at a server, while the server answers other requests."""


class NotSent(InfrastructureError):
    """Raised when a slice ends while a request waits for a slot at its endpoint: nothing was sent."""


class FitInterrupted(InfrastructureError):
    """Raised when a training process was asked to end before its item was done. Its steps are in a checkpoint."""


class UnclearFailure(InfrastructureError):
    """Raised when a server refuses a request, and it is unclear whether the request or the server is at fault.

    `status`: the HTTP status. The message names host, status, cause and remedy in one line.
    """

    def __init__(self, message: str, status: int):
        self.status = status
        super().__init__(message)


class DatabaseFailure(InfrastructureError):
    """Raised when the database fails. Its subclasses are the failures that a caller can do something about.

    `reason`: the first line of the driver's message, after its SQLSTATE if it has one. `driver_message`: all lines.
    """

    def __init__(self, reason: str, driver_message: str = ""):
        self.reason, self.driver_message = reason, driver_message or reason
        super().__init__(f"The database failed: {reason}. Check it with: lumos doctor")


class DatabaseUnavailable(DatabaseFailure):
    """Raised when the connection is lost, or the database is locked, full, read-only, starting or interrupted.

    The same statement may succeed later.
    """


class TransactionConflict(DatabaseUnavailable):
    """Raised when the database has ended a transaction so that another one could continue, as in a deadlock.

    The same transaction may succeed at once.
    """


class RowsRefused(DatabaseFailure):
    """Raised when the rows of a statement are the cause: a value, a size, or a constraint."""


class ConstraintViolated(RowsRefused):
    """Raised when a row with the same key is stored already, or when a row that the new row names is missing."""


class PoolTimeout(DatabaseFailure):
    """Raised when all connections of this process have been in use for longer than a thread may wait."""


class ApprovalPending(InfrastructureError):
    """Raised when an episode waits for a person's answer."""


class WaitsForJob(InfrastructureError):
    """Raised when an item needs the results of another open job; `job` is its id."""

    def __init__(self, message: str, job: str):
        self.job = job
        super().__init__(message)


def unknown(kind: str, value: str, choices: Iterable[str]) -> SpecError:
    """Return the error for an unknown name. It contains the name, suggests a similar choice, and lists all choices."""
    names = sorted(choices)
    suggestion = suggest(value, names)
    return SpecError(f"No {kind} called '{value}'. {suggestion}Choose one of: {', '.join(names)}.")


def suggest(value: str, choices: Iterable[str]) -> str:
    """Return `Did you mean 'evaluate'? `, with a space at the end, if a choice is similar to `value`; else ''."""
    nearest = find_nearest(value, choices)
    return f"Did you mean '{nearest}'? " if nearest else ""


def find_nearest(value: str, choices: Iterable[str]) -> str:
    """Return the choice that is most similar to `value`, or '' if none is similar. `_` equals `-`."""
    from difflib import get_close_matches

    plain = {choice.casefold().replace("_", "-"): choice for choice in choices}
    matches = get_close_matches(value.casefold().replace("_", "-"), plain, n=1, cutoff=0.65)
    return plain[matches[0]] if matches else ""
