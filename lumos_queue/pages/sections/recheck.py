"""The accepted annotations of a conversion that the present rules would reject or write differently."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from lumos_queue.pages.blocks import Block, Table, Text

_LISTS = {
    "rejected": "would be rejected",
    "changed": "would have other actions",
    "reworded": "would have other subgoals only",
}
MAX_ROWS = 20  #: of each list


def recheck(report: Mapping[str, Any]) -> Iterator[Block]:
    """Yield the blocks of a report of `submission.recheck.recheck_conversion`."""
    yield Text(
        f"{report['source']} ({report['job']}): converted by version {report['rules']} of the rules, the present "
        f"version is {report['present_rules']}"
    )
    yield Text(
        f"{report['accepted']:,} accepted episodes: {report['same']:,} would be the same, "
        f"{len(report['rejected']):,} rejected, {len(report['changed']):,} have other actions, "
        f"{len(report['reworded']):,} other subgoals only"
    )
    for name, title in _LISTS.items():
        rows = [[row["episode"], row["level"], row["reason"]] for row in report[name][:MAX_ROWS]]
        further = len(report[name]) - len(rows)
        note = f"and {further:,} more: --json lists all" if further > 0 else ""
        if rows:
            yield Table(title, ["episode", "check level", "reason"], rows, note, frozenset({0, 1, 2}), ranks=(0, 1, 0))
    yield Text("Nothing was changed. To convert with the present rules: lumos convert SOURCE, with the same rows")
