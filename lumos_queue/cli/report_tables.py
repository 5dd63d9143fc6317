"""Reports, lists and trajectories for people. Nothing is computed here but percentages."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from rich import box
from rich.table import Table

from lumos_queue.cli import output
from lumos_queue.cli.output import escape
from lumos_queue.reports.completeness import remark


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def print_reports(reports: list[dict[str, Any]]) -> None:
    """Reports of several jobs; those of the same kind on the same rows stand side by side."""
    console, groups = output.console(), {}
    for report in reports:
        groups.setdefault((report["kind"], report["benchmark"], report["split"], report["n"]), []).append(report)
    for (kind, *_), group in groups.items():
        for report in group if kind == "train" else ():
            _print_training(console, report)
        if kind != "train":
            _print_group(console, group)
    if converted := [report for report in reports if report["kind"] == "convert"]:
        from lumos_queue.cli.conversion_tables import print_conversions

        print_conversions(console, converted)


def _print_group(console: Any, reports: list[dict[str, Any]]) -> None:
    first = reports[0]
    title = f"{first['kind']} {first['benchmark']} ({first['split']})"
    table = Table(title=title, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", no_wrap=True)
    for report in reports:
        table.add_column(f"{report['formulation']}\n{report['job']}", justify="right")
    for name, show in _ROWS:
        if name == "model calls":
            _add_metrics(table, reports)
        cells = [show(report) for report in reports]
        if any(cells):
            table.add_row(name, *cells)
    shown = [report for report in reports if report["kind"] != "convert"]
    for name in sorted({name for report in shown for name in report["phases"]}):
        table.add_row(f"time in {name}", *(_share(report["phases"], name) for report in reports))
    for role in sorted({role for report in reports for role in report["latency"]}):
        table.add_row(f"mean call of {role}", *(_latency(report["latency"].get(role)) for report in reports))
    for ending in sorted({ending for report in reports for ending in report["endings"]}):
        table.add_row(f"ended {ending}", *(f"{report['endings'].get(ending, 0):,}" for report in reports))
    table.add_row("code", *(_versions(report["code_versions"], "code_version") for report in reports))
    for role in sorted({role for report in reports for role in report["prompts"]}):
        cells = [_versions(report["prompts"].get(role, []), "prefix") for report in reports]
        table.add_row(f"prompts of {role}", *cells)
    for name in first.get("baselines", {}):
        table.add_row(f"baseline: {name}", *(_metric(report["baselines"][name]) for report in reports), style="dim")
    console.print(table)
    for report in reports:
        if report["waiting"]:
            console.print(f"{report['job']} waits: {escape(report['waiting'])}")
        if text := remark(report):
            console.print(f"{report['job']} is {text}", soft_wrap=True)
        for problem in report["problems"][:3]:
            message = escape(problem["message"][:160])
            console.print(f"  {report['job']}: {problem['episodes']} × {problem['ending']}: {message}", soft_wrap=True)


def _metric(found: dict[str, Any] | None) -> str:
    """A metric's value with its interval, in percent; of an unfinished evaluation what it can still become."""
    if not found:
        return ""
    if "bounds" in found:
        low, high = found["bounds"]
        return f"incomplete: {100 * low:.1f} to {_percent(high)}"
    low, high = found["ci95"]
    return f"{_percent(found['value'])} [{100 * low:.1f}, {100 * high:.1f}]"


def _add_metrics(table: Table, reports: list[dict[str, Any]]) -> None:
    names = dict.fromkeys(name for report in reports for name in report.get("metrics", {}))
    for name in names:
        found = [report.get("metrics", {}).get(name) for report in reports]
        table.add_row(f"{name.replace('_', ' ')} [95 %]", *map(_metric, found))
        if any(one and one["of"] != report["n"] for one, report in zip(found, reports, strict=True)):
            table.add_row("  of so many", *(f"{one['of']:,}" if one else "" for one in found), style="dim")
        if any(one and "sets" in one for one in found):
            table.add_row("  sample sets", *map(_sets, found), style="dim")


def _tools(tools: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in tools.items() if not name.endswith(("_sha256", "_warning")))


def _sets(found: dict[str, Any] | None) -> str:
    if not found or "sets" not in found:
        return ""
    means, spread = found["sets"]["means"], found["sets"]["spread"]
    return " ".join(f"{100 * mean:.1f}" for mean in means) + (f" ± {100 * spread:.1f}" if spread is not None else "")


def _calls(report: dict[str, Any]) -> str:
    if not (check := report.get("calls_as_expected")):
        return ""
    return f"{check['as_expected']:,} of {check['episodes']:,}"


def _versions(found: list[dict[str, Any]], name: str) -> str:
    """The one version of code or prompts; of several each with the episodes that it made. Digests are cut."""
    short = [(one[name] if name == "code_version" else one[name][:12], one["episodes"]) for one in found]
    if len(short) == 1:
        return escape(short[0][0])
    return "\n".join(escape(f"{text}: {episodes:,}") for text, episodes in short)


def _score_versions(report: dict[str, Any]) -> str:
    """Of each metric; where several versions judged, each with its episodes."""
    lines = []
    for metric, versions in report.get("scoring", {}).get("versions", {}).items():
        several = len(versions) > 1
        told = [f"{version}: {episodes:,}" if several else version for version, episodes in versions.items()]
        lines.append(f"{metric} {', '.join(told)}")
    return "\n".join(lines)


def _share(phases: dict[str, float], name: str) -> str:
    """Of the seconds that episodes spent waiting for models and actions; they ran side by side."""
    total = sum(phases.values())
    return _percent(phases.get(name, 0.0) / total) if total else ""


def _latency(means: dict[str, float] | None) -> str:
    """Seconds of a call, and what else it cost: waiting for its turn here, the server's queue, tries that failed."""
    if means is None:
        return ""
    others = (("here", "waited"), ("queue", "queued"), ("failed", "lost"))
    parts = [f"{what} {means[name]:.3f}" for what, name in others if means[name] >= 0.0005]
    return f"{means['seconds']:.3f} s" + (f" ({', '.join(parts)})" if parts else "")


_ROWS = (
    ("state", lambda r: r["state"] if r["state"] != "done" else ""),
    ("items finished", lambda r: f"{r['finished']:,} of {r['n']:,}"),
    ("quarantined", lambda r: f"{r['items']['quarantined']:,}" if r["items"].get("quarantined") else ""),
    ("accepted for both", lambda r: f"{r['correct']:,}" if "correct" in r and r["kind"] == "convert" else ""),
    ("correct", lambda r: f"{r['correct']:,}" if "correct" in r and r["kind"] != "convert" else ""),
    ("tools", lambda r: _tools(r.get("tools", {}))),
    ("answer at the limit", lambda r: r.get("scoring", {}).get("at_limit", "")),
    ("score versions", _score_versions),
    ("formulation version", lambda r: str(r.get("formulation_version", ""))),
    ("model calls", lambda r: f"{r['calls']:,}" if r["calls"] else ""),
    ("calls as expected", _calls),
    ("tokens in / out", lambda r: f"{r['tokens']['prompt']:,} / {r['tokens']['completion']:,}" if r["calls"] else ""),
    ("seconds", lambda r: f"{r['seconds']:.1f}" if r["seconds"] is not None else ""),
)


def _print_training(console: Any, report: dict[str, Any]) -> None:
    table = Table(
        title=f"train {report['job']}: {report['finished']} of {report['n']} items",
        title_justify="left",
        box=box.SIMPLE_HEAD,
    )
    for name in ("fit", "steps done", "loss", "dev loss", "tokens", "tokens/s", "seconds"):
        table.add_column(name, justify="right")
    others = []
    for window in report["windows"]:
        if "step" in window:
            table.add_row(
                window["fit"],
                str(window["step"]),
                f"{window['loss']:.4f}",
                f"{window['dev_loss']:.4f}" if "dev_loss" in window else "",
                f"{window['tokens']:,}",
                f"{window['tokens_per_second']:,.0f}",
                f"{window['seconds']:.1f}",
            )
        else:
            others.append({name: value for name, value in window.items() if name != "item"})
    console.print(table)
    for window in others:
        for name, value in (window.get("counts") or window).items():
            console.print(f"  {name}: {value}", markup=False)
    if text := remark(report):
        console.print(f"{report['job']} is {text}", soft_wrap=True)


def print_jobs(jobs: list[dict[str, Any]]) -> None:
    """The list of jobs."""
    table = Table(header_style="bold", box=box.SIMPLE_HEAD)
    for name in ("job", "kind", "benchmark", "formulation", "state", "done", "since (UTC)"):
        table.add_column(name, justify="right" if name == "done" else "left", no_wrap=name in ("job", "done"))
    for job in jobs:
        when = datetime.fromtimestamp(job["created_at"], UTC).strftime("%m-%d %H:%M")
        done = f"{job['done']:,}/{job['items']:,}"
        cells = (
            job["job"],
            job["kind"],
            job["benchmark"],
            job["formulation"],
            job["state"],
            done,
            when,
        )
        table.add_row(*map(escape, cells))
    console = output.console()
    console.print(table)
    for job in jobs:
        if job["waiting"]:
            console.print(f"{job['job']} waits: {escape(job['waiting'])}", soft_wrap=True)


def print_job(job: dict[str, Any]) -> None:
    """One job: what was asked, where it stands, who its endpoints are."""
    console = output.console()
    grid = Table.grid(padding=(0, 2))
    for name in (
        "job",
        "kind",
        "benchmark",
        "split",
        "formulation",
        "state",
        "waiting",
        "submitted_by",
        "project",
        "digest",
        "dataset",
        "agent",
        "code_version",
    ):
        if job[name]:
            grid.add_row(f"[dim]{name}[/]", escape(str(job[name])))
    grid.add_row("[dim]items[/]", "  ".join(f"{state} {count:,}" for state, count in sorted(job["items"].items())))
    if len(job["code_versions"]) > 1:
        grid.add_row("[dim]episodes by code[/]", _versions(job["code_versions"], "code_version"))
    for endpoint in job["endpoints"]:
        told = ", ".join(f"{key} {value}" for key, value in endpoint["identity"].items())
        grid.add_row(f"[dim]{endpoint['role']}[/]", escape(f"{endpoint['url']}  {told}"))
    for problem in job["problems"]:
        grid.add_row("[dim]failing[/]", escape(f"{problem['items']} items: {problem['problem']}"))
    console.print(grid)


def gold_text(gold: Any) -> str:
    """The gold answer of a task as text; empty when none is known."""
    known = gold.get("answer", gold) if isinstance(gold, dict) else gold
    return "" if known is None else str(known)
