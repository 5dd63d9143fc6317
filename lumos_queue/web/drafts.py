"""Drafts of builds: one thread previews and builds them, in turn by person, and reports its progress.

Drafts are in the memory of this process: a restart removes them. Finished builds are folders, and remain.
"""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any

from lumos_queue.builds.options import BuildOptions
from lumos_queue.builds.progress import BuildStage, Tell
from lumos_queue.errors import DatabaseFailure, InfrastructureError, SpecError
from lumos_queue.web.errors import Busy
from lumos_queue.web.fair_queue import FairQueue

_LOG = logging.getLogger(__name__)
MAX_DRAFTS = 50  #: beyond this, the oldest inactive draft is removed
MAX_WAITING = 4  #: drafts of one person, beside the one that is in progress
RETRY_SECONDS = 10
Work = Callable[[Tell], tuple[dict[str, Any], bool]]


class DraftState(StrEnum):
    """The state of a draft."""

    WAITING = "waiting"  #: for the drafts before it
    WORKING = "working"
    PREVIEWED = "previewed"  #: ready to be built
    BUILT = "built"
    FAILED = "failed"
    STOPPED = "stopped"  #: by a person


MOVING = (DraftState.WAITING, DraftState.WORKING)


class Stopped(Exception):
    """Raised inside work that a person has stopped, or when the explorer ends."""


@dataclass(slots=True)
class Draft:
    """A build that a person has requested."""

    name: str
    options: BuildOptions
    person: str
    id: str = field(default_factory=lambda: secrets.token_hex(6))
    state: DraftState = DraftState.WAITING
    is_preview: bool = True  #: whether the current or latest work is the preview, not the build itself
    stage: BuildStage | None = None
    done: int = 0
    began_at: float = 0.0  #: by the monotonic clock
    problem: str = ""
    manifest: dict[str, Any] | None = None  #: of the preview, then of the build
    is_new: bool = True  #: whether the build did not exist before
    stopped: bool = False


class Drafts:
    """All drafts of one explorer. May be used from any thread."""

    def __init__(self) -> None:
        self._condition = threading.Condition()
        self._drafts: dict[str, Draft] = {}  # the oldest first
        self._queue = FairQueue[Draft]()
        self._work: dict[str, Work] = {}  # of the drafts that wait, by their ids
        self._thread: threading.Thread | None = None
        self._is_ended = False

    def add(self, draft: Draft, work: Work) -> None:
        """Preview a build. Raises SpecError when too many drafts wait, and Busy when too many of the person wait."""
        with self._condition:
            self._require_place(draft.person)
            if len(self._drafts) >= MAX_DRAFTS:
                oldest = next((candidate for candidate in self._drafts.values() if candidate.state not in MOVING), None)
                if oldest is None:
                    raise SpecError(f"{MAX_DRAFTS} drafts of builds wait: stop one of them.")
                del self._drafts[oldest.id]
            self._drafts[draft.id] = draft
            self._enqueue(draft, work)

    def build(self, draft: Draft, work: Work) -> None:
        """Make a build that was previewed. Raises SpecError in any other state, Busy when too many wait."""
        with self._condition:
            if draft.state is not DraftState.PREVIEWED:
                raise SpecError(f"The draft is {draft.state}: it can be built once it is previewed.")
            self._require_place(draft.person)
            draft.is_preview, draft.stopped = False, False
            self._enqueue(draft, work)

    def stop_draft(self, draft: Draft) -> None:
        """Stop the work for a draft, at its next report of progress."""
        with self._condition:
            draft.stopped = draft.state in MOVING
            if draft.state is DraftState.WAITING:
                self._queue.remove(draft.person, draft)
                self._work.pop(draft.id, None)
                draft.state = DraftState.STOPPED

    def find(self, identifier: str) -> Draft | None:
        with self._condition:
            return self._drafts.get(identifier)

    def copy(self, identifier: str) -> Draft | None:
        """Return a copy of the draft, which does not change while a page is made from it; None if it is unknown."""
        with self._condition:
            draft = self._drafts.get(identifier)
            return replace(draft) if draft else None

    def list(self) -> list[Draft]:
        """Return the drafts, the newest first."""
        with self._condition:
            return list(reversed(self._drafts.values()))

    def stop(self) -> None:
        """Stop all work, and wait up to 10 seconds for the thread to end."""
        with self._condition:
            self._is_ended = True
            self._queue.clear()
            self._work.clear()
            for draft in self._drafts.values():
                draft.stopped = True
            self._condition.notify()
            thread = self._thread
        if thread is not None:
            thread.join(10)

    def _require_place(self, person: str) -> None:
        if self._queue.count(person) >= MAX_WAITING:
            raise Busy(
                f"{MAX_WAITING} of your builds and previews are waiting: stop one, or wait until one has begun.",
                RETRY_SECONDS,
            )

    def _enqueue(self, draft: Draft, work: Work) -> None:
        draft.state, draft.stage, draft.done, draft.problem = DraftState.WAITING, None, 0, ""
        self._queue.add(draft.person, draft)
        self._work[draft.id] = work
        if self._thread is None:
            self._thread = threading.Thread(target=self._work_on, name="builds", daemon=True)
            self._thread.start()
        self._condition.notify()

    def _work_on(self) -> None:
        while True:
            with self._condition:
                while not self._queue and not self._is_ended:
                    self._condition.wait()
                if self._is_ended:
                    return
                draft = self._queue.take()
                work = self._work.pop(draft.id)
                draft.state, draft.began_at = DraftState.WORKING, time.monotonic()
            self._carry_out(draft, work)

    def _carry_out(self, draft: Draft, work: Work) -> None:
        def tell(stage: BuildStage, count: int) -> None:
            if draft.stopped:
                raise Stopped
            draft.stage, draft.done = stage, count
            time.sleep(0)  # lets the threads that serve pages run first

        try:
            manifest, is_new = work(tell)
        except Stopped:
            self._end(draft, DraftState.STOPPED)
        except DatabaseFailure as error:
            reason = " ".join(error.driver_message.split())[:200]
            self._end(draft, DraftState.FAILED, problem=f"The database does not answer: {reason}.")
        except (SpecError, InfrastructureError) as error:
            self._end(draft, DraftState.FAILED, problem=str(error))
        except Exception:
            _LOG.exception("the build '%s' failed", draft.name)
            problem = "This is a fault of lumos-queue: see the log of lumos web."
            self._end(draft, DraftState.FAILED, problem=problem)
        else:
            state = DraftState.PREVIEWED if draft.is_preview else DraftState.BUILT
            self._end(draft, state, manifest=manifest, is_new=is_new)

    def _end(self, draft: Draft, state: DraftState, **results: Any) -> None:
        with self._condition:
            draft.state = state
            for name, value in results.items():
                setattr(draft, name, value)
