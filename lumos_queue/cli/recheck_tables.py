"""Print which accepted annotations of a conversion the present rules would reject or write differently."""

from __future__ import annotations

from typing import Any

from lumos_queue.cli.output import escape

_LISTS = {
    "rejected": "would be rejected",
    "changed": "would have other actions",
    "reworded": "would have other subgoals only",
}
MAX_LINES = 20  #: of each list; --json has all


def print_recheck(console: Any, report: dict[str, Any]) -> None:
    """Print the counts of a recheck, and its first episodes."""
    console.print(
        f"{escape(report['source'])} ({report['job']}): converted by version {report['rules']} of the rules, "
        f"the present version is {report['present_rules']}",
        soft_wrap=True,
    )
    console.print(
        f"{report['accepted']:,} accepted episodes: {report['same']:,} would be the same, "
        f"{len(report['rejected']):,} rejected, {len(report['changed']):,} have other actions, "
        f"{len(report['reworded']):,} other subgoals only",
        soft_wrap=True,
    )
    for name, title in _LISTS.items():
        rows = report[name]
        if not rows:
            continue
        console.print(f"{title}:")
        for row in rows[:MAX_LINES]:
            console.print(f"  {row['episode']}  {escape(row['level'])}  {escape(row['reason'])}", soft_wrap=True)
        if len(rows) > MAX_LINES:
            console.print(f"  and {len(rows) - MAX_LINES:,} more: --json lists all")
    console.print("Nothing was changed. To convert with the present rules: lumos convert SOURCE, with the same rows")
