"""The accepted annotations of a conversion that the present rules would reject or write differently."""

from __future__ import annotations

from collections.abc import Iterator

from lumos_queue.pages.blocks import Block, Table, Text
from lumos_queue.submission.recheck import Recheck

MAX_ROWS = 20  #: of each list


def recheck(report: Recheck) -> Iterator[Block]:
    """Yield the blocks of a conversion that was compared with the present rules."""
    yield Text(
        f"{report.source} ({report.job}): converted by version {report.rules} of the rules, the present "
        f"version is {report.present_rules}"
    )
    yield Text(
        f"{report.accepted:,} accepted episodes: {report.same:,} would be the same, "
        f"{len(report.rejected):,} rejected, {len(report.changed):,} have other actions, "
        f"{len(report.reworded):,} other subgoals only"
    )
    lists = {
        "would be rejected": report.rejected,
        "would have other actions": report.changed,
        "would have other subgoals only": report.reworded,
    }
    for title, episodes in lists.items():
        rows = [[episode.episode, episode.level, episode.reason] for episode in episodes[:MAX_ROWS]]
        further = len(episodes) - len(rows)
        note = f"and {further:,} more: --json lists all" if further > 0 else ""
        if rows:
            yield Table(title, ["episode", "check level", "reason"], rows, note, frozenset({0, 1, 2}), ranks=(0, 1, 0))
    yield Text("Nothing was changed. To convert with the present rules: lumos convert SOURCE, with the same rows")
