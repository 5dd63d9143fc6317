"""The child that runs SQL statements, with a tenth of the processor time for each."""

from __future__ import annotations

from lumos_queue.actions.sql import child, database


def main() -> None:
    child.SECONDS = database.SECONDS = database.SECONDS / 10
    child.HARD_SECONDS /= 10
    child.main()
