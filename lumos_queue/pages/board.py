"""The page of a table of models and benchmarks."""

from __future__ import annotations

from db.engine.connection import Connection, clock
from lumos_queue.pages.blocks import Document
from lumos_queue.pages.sections.board import board
from lumos_queue.reports.board import Board
from lumos_queue.util.version import code_version
from lumos_queue.util.wording import format_time


def compose_board(connection: Connection, table: Board) -> Document:
    """Return the page of a board."""
    made = f"{format_time(clock(connection))}, by lumos-queue {code_version()}"
    return Document(title="Models and benchmarks", lead=list(board(table)), sections=(), made=made)
