"""How long patterns take on texts, in a process that may be ended: the matcher holds the interpreter's lock."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
#: After the repeated text: nothing, or a character that many patterns do not expect there.
ENDS = ("", "\0", "x", "\n", " ")
LIMIT_SECONDS = 10.0  #: for one text
ROUNDS = 3  #: of which the fastest counts

#: A pattern, its flags, the method (`search`, `match` or `fullmatch`) and texts.
Case = tuple[str, int, str, list[str]]


def write_texts(beginning: str, repeated: str, length: int) -> list[str]:
    """Return texts of that many characters, one with each end."""
    text = beginning + repeated * (length // len(repeated) + 1)
    return [text[: length - len(end)] + end for end in ENDS]


def measure(cases: Sequence[Case]) -> list[float]:
    """Return for each case the processor time in seconds of its slowest text, at most LIMIT_SECONDS."""
    command = [sys.executable, "-m", "tests.patterns.measure"]
    result = subprocess.run(
        command, input=json.dumps(cases), capture_output=True, text=True, timeout=600, cwd=ROOT, check=True
    )
    return json.loads(result.stdout)


def _measure_case(pattern: str, flags: int, method: str, texts: list[str]) -> float:
    match = getattr(re.compile(pattern, flags), method)
    return max(min(_measure_text(match, text) for _ in range(ROUNDS)) for text in texts)


def _measure_text(match: Callable[[str], object], text: str) -> float:
    begin = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, LIMIT_SECONDS)
    try:
        match(text)
    except TimeoutError:
        return LIMIT_SECONDS
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return time.process_time() - begin


def _end(*_: object) -> None:
    raise TimeoutError


if __name__ == "__main__":
    signal.signal(signal.SIGPROF, _end)
    print(json.dumps([_measure_case(*case) for case in json.load(sys.stdin)]))
