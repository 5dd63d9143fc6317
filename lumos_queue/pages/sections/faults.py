"""The reports of continued episodes: the labels of subgoals, and the module at fault in failed episodes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lumos_queue.pages.blocks import Block, Table, Text
from lumos_queue.records import Role
from lumos_queue.rollouts.blame_report import BlameReport
from lumos_queue.rollouts.report import RolloutsReport
from lumos_queue.util.wording import format_share


def subgoal_labels(report: RolloutsReport) -> Iterator[Block]:
    """Yield the blocks of the labels of subgoals."""
    yield Text(
        f"{report.episodes:,} episodes, {report.subgoals:,} subgoals; of {report.rollouts:,} rollouts "
        f"{report.ended:,} have ended, {report.right:,} are right"
    )
    yield _shares("label", report.labels, report.subgoals)
    yield Text(f"{report.rows:,} rows with all labels known{_describe_missing(report.gone)}")


def module_faults(report: BlameReport) -> Iterator[Block]:
    """Yield the blocks of the modules at fault."""
    yield _shares("at fault", report.faults, report.episodes, f"{report.episodes:,} failed episodes")
    pairs = report.pairs
    counts = f"{pairs[Role.PLANNER]:,} of the planner, {pairs[Role.GROUNDER]:,} of the grounder"
    yield Text(f"preference pairs: {counts}{_describe_missing(report.gone)}")


def _shares(head: str, counts: Mapping[str, int], whole: int, title: str = "") -> Table:
    rows = [[name, f"{count:,}", format_share(count / whole) if whole else ""] for name, count in counts.items()]
    return Table(title, [head, "count", "share"], rows)


def _describe_missing(gone: int) -> str:
    return f"; {gone:,} episodes are no longer in the database" if gone else ""
