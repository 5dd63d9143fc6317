"""Measure how long the interpreter and the event loops of this process stand still, and where.

A thread that sleeps for BEAT seconds in turn notices when it does not get the interpreter; a timer on each loop of a
slice notices when the loop is late. A gap is the smaller of the time on the clock and the processor time: on a busy
machine a process waits without holding anything.
"""

from __future__ import annotations

import asyncio
import faulthandler
import functools
import sys
import threading
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import TextIO

import uvloop

BEAT = 0.02  #: seconds between two beats


@dataclass
class Gap:
    """The longest time without a beat so far."""

    held: float = 0.0  #: seconds in which this process computed
    wall: float = 0.0  #: seconds on the clock of the longest gap, which may be another one
    at: float = 0.0  #: Unix time at the end of the gap that held longest
    stack: str = ""  #: of the code in a gap above the limit

    def note(self, wall: float, processor_seconds: float, stack: str) -> None:
        """Record a gap if it is the longest. `wall` and `processor_seconds` are since the last beat."""
        self.wall = max(self.wall, wall)
        if (held_seconds := min(wall, processor_seconds)) > self.held:
            self.held, self.at, self.stack = held_seconds, time.time(), stack


@dataclass
class _Loop:
    thread: int
    beat: float  #: when its timer ran last, on the monotonic clock
    computed: float  #: processor time of its thread then
    stack: str = ""


@dataclass
class Pulse:
    """Measures while its `with` block lasts. `limit`: seconds of a gap after which the stack is recorded."""

    folder: Path
    limit: float = 1.0
    interpreter: Gap = field(default_factory=Gap)
    loop: Gap = field(default_factory=Gap)

    def __enter__(self) -> Pulse:
        self._over = threading.Event()
        self._loops: dict[int, _Loop] = {}
        self._file: TextIO = (self.folder / "stalls.txt").open("w+", encoding="utf-8", errors="replace")
        self._run = uvloop.run
        uvloop.run = functools.partial(uvloop.run, loop_factory=self._make_loop)
        self._thread = threading.Thread(target=self._beat, name="pulse", daemon=True)
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._over.set()
        self._thread.join()
        uvloop.run = self._run
        faulthandler.cancel_dump_traceback_later()
        self._file.close()

    def _make_loop(self) -> uvloop.Loop:
        loop = uvloop.new_event_loop()
        loop.call_soon(self._first_beat, loop)
        return loop

    def _first_beat(self, loop: asyncio.AbstractEventLoop) -> None:
        state = _Loop(threading.get_ident(), time.monotonic(), time.thread_time())
        self._loops[id(loop)] = state
        loop.call_later(BEAT, self._beat_of_loop, loop, state)

    def _beat_of_loop(self, loop: asyncio.AbstractEventLoop, state: _Loop) -> None:
        now, thread_seconds = time.monotonic(), time.thread_time()
        self.loop.note(now - state.beat - BEAT, thread_seconds - state.computed, state.stack)
        state.beat, state.computed, state.stack = now, thread_seconds, ""
        loop.call_later(BEAT, self._beat_of_loop, loop, state)

    def _beat(self) -> None:
        last, last_processor_seconds = time.monotonic(), time.process_time()
        while not self._over.is_set():
            # This timer does not need the interpreter, so it runs while a thread holds it.
            faulthandler.dump_traceback_later(self.limit, file=self._file)
            time.sleep(BEAT)
            now, processor_seconds = time.monotonic(), time.process_time()
            wall = now - last - BEAT
            stack = self._read_stalls() if wall > self.limit else ""
            self.interpreter.note(wall, processor_seconds - last_processor_seconds, stack)
            last, last_processor_seconds = now, processor_seconds
            self._look_at_loops(now)

    def _look_at_loops(self, now: float) -> None:
        frames = sys._current_frames()
        for state in list(self._loops.values()):
            if now - state.beat > self.limit and not state.stack and state.thread in frames:
                state.stack = "".join(traceback.format_stack(frames[state.thread])[-14:])

    def _read_stalls(self) -> str:
        self._file.flush()
        self._file.seek(0)
        text = self._file.read()
        self._file.seek(0)
        self._file.truncate()
        return text
