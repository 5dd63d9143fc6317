"""Sets of entrances that several options have."""

from __future__ import annotations

from lumos_queue.submission.requests.option import EVERYWHERE, Entrance

COMMAND_ONLY = frozenset((Entrance.COMMAND,))
PYTHON_ONLY = frozenset((Entrance.PYTHON,))
SWEPT = EVERYWHERE | {Entrance.SWEEP}
FORMS = frozenset((Entrance.COMMAND, Entrance.FORM))
CHANGED = EVERYWHERE | {Entrance.RERUN}
SWEPT_AND_CHANGED = SWEPT | CHANGED
EXTENDED = CHANGED | {Entrance.EXTEND}
