"""How long a pattern takes on a text, in a process that may be ended: the matcher holds the interpreter's lock."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from pathlib import Path

from tests.patterns.growth import Growth

ROOT = Path(__file__).resolve().parents[2]
#: After the repeated text: nothing, or a character that many patterns do not expect there.
ENDS = ("", "\0", "x", "\n", " ")
LIMIT_SECONDS = 60.0


def write_text(growth: Growth, length: int, end: str) -> str:
    """Return a text of that many characters."""
    repeated = growth.repeated * (length // len(growth.repeated) + 1)
    return (growth.beginning + repeated)[: length - len(end)] + end


def measure(pattern: str, flags: int, method: str, growth: Growth, length: int) -> float:
    """Return the processor time in seconds for the worst end of a text, LIMIT_SECONDS if it takes longer."""
    texts = [write_text(growth, length, end) for end in ENDS]
    command = [sys.executable, "-m", "tests.patterns.measure"]
    given = json.dumps([pattern, flags, method, texts])
    try:
        result = subprocess.run(
            command, input=given, capture_output=True, text=True, timeout=LIMIT_SECONDS, cwd=ROOT, check=True
        )
    except subprocess.TimeoutExpired:
        return LIMIT_SECONDS
    return float(result.stdout)


def _measure_here(pattern: str, flags: int, method: str, texts: list[str]) -> float:
    match = getattr(re.compile(pattern, flags), method)
    times = []
    for text in texts:
        rounds = []
        for _ in range(3):
            begin = time.process_time()
            match(text)
            rounds.append(time.process_time() - begin)
        times.append(min(rounds))
    return max(times)


if __name__ == "__main__":
    print(_measure_here(*json.load(sys.stdin)))
