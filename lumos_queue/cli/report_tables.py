"""Print reports of jobs as text. The figures are computed elsewhere; this module only converts them to percentages."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import Any

from rich import box
from rich.console import Console
from rich.table import Table

from db.kinds.job_kinds import JobKind
from db.kinds.states import JobState
from db.queue.wait_reasons import PAUSED_BY_PERSON
from lumos_queue.cli import output
from lumos_queue.cli.again_tables import ADOPTED_ROWS, print_again
from lumos_queue.cli.conversion_tables import format_cost
from lumos_queue.cli.feedback_tables import format_steps, print_feedback
from lumos_queue.cli.field_tables import print_fields
from lumos_queue.cli.group_tables import print_groups
from lumos_queue.cli.model_tables import print_curves
from lumos_queue.cli.output import escape
from lumos_queue.cli.report_heads import head_columns
from lumos_queue.cli.rule_tables import add_rules, print_lacking_votes
from lumos_queue.cli.sample_tables import add_samples
from lumos_queue.cli.tool_report_tables import STATE_ROWS, print_tool_calls
from lumos_queue.reports.completeness import remark
from lumos_queue.reports.judge import list_judge_figures
from lumos_queue.reports.tool_rules import BY_RULE
from lumos_queue.util.plugins import Plugin


def _percent(value: float) -> str:
    return f"{100 * value:.1f} %"


def print_reports(reports: list[dict[str, Any]]) -> None:
    """Print the reports of jobs. Jobs of the same kind on the same rows are shown side by side."""
    console, groups = output.console(), {}
    for report in reports:
        groups.setdefault((report["kind"], report["benchmark"], report["split"], report["n"]), []).append(report)
    for (kind, *_), group in groups.items():
        for report in group if kind == JobKind.TRAIN else ():
            _print_training(console, report)
        if kind != JobKind.TRAIN:
            _print_group(console, group)
    if conversions := [report for report in reports if report["kind"] == JobKind.CONVERT]:
        from lumos_queue.cli.conversion_tables import print_conversions

        print_conversions(console, conversions)


def _print_group(console: Any, reports: list[dict[str, Any]]) -> None:
    first = reports[0]
    heads, common_formulation = head_columns(reports, console.width)
    title = f"{first['kind']} {first['benchmark']} ({first['split']}) {common_formulation}".rstrip()
    table = Table(title=title, title_justify="left", header_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("", no_wrap=True)
    for head in heads:
        table.add_column(escape(head), justify="right")
    for name, format_cell in _ROWS:
        if name == "model calls":
            _add_metrics(table, reports)
            add_rules(table, reports, _format_metric)
            add_samples(table, reports)
        cells = [format_cell(report) for report in reports]
        if any(cells):
            table.add_row(name, *cells)
    agent_reports = [report for report in reports if report["kind"] != JobKind.CONVERT]
    if any("cost" in report for report in agent_reports):
        table.add_row("USD", *(format_cost(report["cost"]) if "cost" in report else "" for report in reports))
    for name in sorted({name for report in agent_reports for name in report["phases"]}):
        table.add_row(f"time in {name}", *(_format_share(report["phases"], name) for report in reports))
    judge_figures = [dict(list_judge_figures(report)) for report in reports]
    for name in dict.fromkeys(name for figures in judge_figures for name in figures):
        table.add_row(name, *(figures.get(name, "") for figures in judge_figures))
    for role in sorted({role for report in reports for role in report.get("reply_endings", {})}):
        cells = [_format_reply_endings(report.get("reply_endings", {}).get(role)) for report in reports]
        if any(cells):
            table.add_row(f"replies of {role}", *cells)
    for role in sorted({role for report in reports for role in report["latency"]}):
        table.add_row(f"mean call of {role}", *(_format_latency(report["latency"].get(role)) for report in reports))
    for ending in sorted({ending for report in reports for ending in report["endings"]}):
        table.add_row(f"ended {ending}", *(f"{report['endings'].get(ending, 0):,}" for report in reports))
    table.add_row("code", *(format_versions(report["code_versions"], "code_version") for report in reports))
    for name in sorted({plugin["name"] for report in reports for plugin in report["plugins"]}):
        table.add_row(f"plug-in {escape(name)}", *(_format_plugin(report["plugins"], name) for report in reports))
    for role in sorted({role for report in reports for role in report["prompts"]}):
        cells = [format_versions(report["prompts"].get(role, []), "prefix") for report in reports]
        table.add_row(f"prompts of {role}", *cells)
    for name in dict.fromkeys(name for report in reports for name in report.get("baselines", {})):
        table.add_row(
            f"baseline: {name.replace('_', ' ')}",
            *(_format_metric(report.get("baselines", {}).get(name)) for report in reports),
            style="dim",
        )
    console.print(table)
    for report in reports:
        print_groups(console, report)
        print_fields(console, report)
        print_tool_calls(console, report)
        print_lacking_votes(console, report)
        _print_wait(console, report)
        if text := remark(report):
            console.print(f"{report['job']} is {text}", soft_wrap=True)
        for problem in report["problems"][:3]:
            reason = ": ".join(filter(None, (problem["ending"], escape(problem["message"][:160]))))
            console.print(f"  {report['job']}: {problem['episodes']} × {reason}", soft_wrap=True)
        print_again(console, report)


def _format_metric(metric: dict[str, Any] | None) -> str:
    """Return a metric's value with its interval, in percent; for an unfinished job, the range it can still reach."""
    if not metric:
        return ""
    if "bounds" in metric:
        low, high = metric["bounds"]
        return f"incomplete: {100 * low:.1f} to {_percent(high)}"
    low, high = metric["ci95"]
    return f"{_percent(metric['value'])} [{100 * low:.1f}, {100 * high:.1f}]"


def _add_metrics(table: Table, reports: list[dict[str, Any]]) -> None:
    names = dict.fromkeys(name for report in reports for name in report.get("metrics", {}))
    for name in names:
        if name in BY_RULE and all("rules" in report for report in reports):
            continue
        metrics = [report.get("metrics", {}).get(name) for report in reports]
        table.add_row(f"{name.replace('_', ' ')} [95 %]", *map(_format_metric, metrics))
        if any(metric and metric["of"] != report["n"] for metric, report in zip(metrics, reports, strict=True)):
            table.add_row("  trials", *(f"{metric['of']:,}" if metric else "" for metric in metrics), style="dim")
        if any(metric and "sets" in metric for metric in metrics):
            table.add_row("  sample sets", *map(_format_sets, metrics), style="dim")


def _format_tools(tools: dict[str, Any]) -> str:
    return " ".join(f"{name}={value}" for name, value in tools.items() if not name.endswith(("_sha256", "_warning")))


def _format_sets(metric: dict[str, Any] | None) -> str:
    if not metric or "sets" not in metric:
        return ""
    means, spread = metric["sets"]["means"], metric["sets"]["spread"]
    return " ".join(f"{100 * mean:.1f}" for mean in means) + (f" ± {100 * spread:.1f}" if spread is not None else "")


def _format_expert_runs(report: dict[str, Any]) -> str:
    """Return how many runs of experts have each source of results, how many failed, and the samples without a value."""
    if not (expert_runs := report.get("expert_runs")):
        return ""
    parts = [f"{count:,} {name}" for name, count in expert_runs["runs"].items()]
    parts += [f"{count:,} failed ({name})" for name, count in expert_runs["failed"].items()]
    missing_count = sum(expert_runs["samples"]["without_value"].values())
    return ", ".join(parts) + (
        f"; {missing_count:,} of {expert_runs['samples']['n']:,} samples without a value" if missing_count else ""
    )


def _format_experts(report: dict[str, Any]) -> str:
    """Return a line for each backend: its address, its fidelity, and the experts that it ran."""
    names: dict[tuple[str, str], list[str]] = {}
    for name, expert in report.get("experts", {}).items():
        names.setdefault((expert["backend"], expert["fidelity"] or "as its server states"), []).append(name)
    return "\n".join(
        escape(f"{backend} ({fidelity}): {', '.join(experts)}") for (backend, fidelity), experts in names.items()
    )


def _format_plan_steps(report: dict[str, Any]) -> str:
    plan_steps = report.get("plan_steps")
    return f"{plan_steps['unresolved']:,} of {plan_steps['n']:,} name no expert" if plan_steps else ""


def _format_plan_feasibility(report: dict[str, Any]) -> str:
    """Return how many plans are feasible by types and by the released rule; '' for jobs without plans of OpenAGI."""
    if not (counts := report.get("plan_feasibility")):
        return ""
    return (
        f"{counts['types']:,} by types, {counts['released']:,} as released, of {counts['n']:,}; run: {counts['rule']}"
    )


def _format_plans(report: dict[str, Any]) -> str:
    """Return how many plans were shown to people, by the people's answers."""
    return ", ".join(f"{count:,} {name}" for name, count in report.get("plans", {}).items() if count)


def _format_rating(report: dict[str, Any]) -> str:
    if not (ratings := report.get("ratings")):
        return ""
    low, high = ratings["ci95"]
    return f"{ratings['mean']:.1f} [{low:.1f}, {high:.1f}]\n{ratings['rated']:,} of {ratings['of']:,} rated"


def _format_calls(report: dict[str, Any]) -> str:
    if not (check := report.get("calls_as_expected")):
        return ""
    return f"{check['as_expected']:,} of {check['episodes']:,}"


def format_versions(versions: list[dict[str, Any]], name: str) -> str:
    """Return the version of code or prompts; if there are several, each with its count of episodes. Shorten digests."""
    versions_and_counts = [
        (version[name] if name == "code_version" else version[name][:12], version["episodes"]) for version in versions
    ]
    if len(versions_and_counts) == 1:
        return escape(versions_and_counts[0][0])
    return "\n".join(escape(f"{text}: {episodes:,}") for text, episodes in versions_and_counts)


def _format_plugin(plugins: list[dict[str, Any]], name: str) -> str:
    """Return the version of a plug-in's code, and the number of versions if a person accepted another one later."""
    plugin = next((candidate for candidate in plugins if candidate["name"] == name), None)
    if plugin is None:
        return ""
    suffix = f" ({len(plugin['earlier']) + 1} codes)" if plugin.get("earlier") else ""
    return escape(str(Plugin.from_json(plugin))) + suffix


def _format_score_versions(report: dict[str, Any]) -> str:
    """Return the version of each metric's scorer; if there are several, each with its number of episodes."""
    lines = []
    for metric, versions in report.get("scoring", {}).get("versions", {}).items():
        has_several = len(versions) > 1
        texts = [f"{version}: {episodes:,}" if has_several else version for version, episodes in versions.items()]
        lines.append(f"{metric} {', '.join(texts)}")
    return "\n".join((*lines, *report.get("scoring", {}).get("remarks", ())))


def _format_share(phases: dict[str, float], name: str) -> str:
    """Return the phase's share of the total time. The times of concurrent episodes are added."""
    total = sum(phases.values())
    return _percent(phases.get(name, 0.0) / total) if total else ""


def _format_latency(means: dict[str, float] | None) -> str:
    """Return the mean seconds of a call, and of its waits: for a slot, in the server's queue, and in failed tries."""
    if means is None:
        return ""
    waits = (("waiting for a slot", "waited"), ("in the server's queue", "queued"), ("in failed tries", "lost"))
    parts = [f"{means[name]:.3f} s {description}" for description, name in waits if means[name] >= 0.0005]
    return f"{means['seconds']:.3f} s" + (f" ({', '.join(parts)})" if parts else "")


def _format_reply_endings(endings: dict[str, int] | None) -> str:
    """Return the numbers of replies cut at the limit of tokens and of replies without an answer; '' for none."""
    counts = (("cut at the limit of tokens", "cut"), ("without an answer", "unanswered"))
    parts = [f"{endings[name]:,} {description}" for description, name in counts if endings and endings[name]]
    return f"of {endings['replies']:,}: {', '.join(parts)}" if endings and parts else ""


_ROWS = (
    ("state", lambda r: r.get("real_state", r["state"]) if r["state"] != JobState.DONE else ""),
    ("items finished", lambda r: f"{r['finished']:,} of {r['n']:,}"),
    ("rows", lambda r: r.get("row_origin", {}).get("text", "")),
    ("quarantined", lambda r: f"{r['items']['quarantined']:,}" if r["items"].get("quarantined") else ""),
    ("waiting for approval", lambda r: f"{r['items']['awaiting']:,}" if r["items"].get("awaiting") else ""),
    ("plans", _format_plans),
    ("rating, 1 to 10 [95 %]", _format_rating),
    ("accepted for both", lambda r: f"{r['correct']:,}" if "correct" in r and r["kind"] == JobKind.CONVERT else ""),
    ("correct", lambda r: f"{r['correct']:,}" if "correct" in r and r["kind"] != JobKind.CONVERT else ""),
    ("tools", lambda r: _format_tools(r.get("tools", {}))),
    ("requests", lambda r: "\n".join(escape(f"{name}: {value}") for name, value in r.get("requests", {}).items())),
    ("answer at the limit", lambda r: r.get("scoring", {}).get("at_limit", "")),
    ("answer reader", lambda r: r.get("reader", "")),
    ("score versions", _format_score_versions),
    ("formulation version", lambda r: str(r.get("formulation_version", ""))),
    ("descriptions of tools", lambda r: r.get("descriptions", "")),
    ("model calls", lambda r: f"{r['calls']:,}" if r["calls"] else ""),
    ("calls as expected", _format_calls),
    ("plan steps", _format_plan_steps),
    ("feasible plans", _format_plan_feasibility),
    ("runs of experts", _format_expert_runs),
    ("experts", _format_experts),
    ("tokens in / out", lambda r: f"{r['tokens']['prompt']:,} / {r['tokens']['completion']:,}" if r["calls"] else ""),
    *ADOPTED_ROWS,
    *STATE_ROWS,
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
    other_windows, steps_by_note = [], defaultdict(list)
    feedback = report.get("feedback_steps", ())
    for window in report["windows"]:
        if window.get("reward") is not None:
            for note in window.get("notes", ()):
                steps_by_note[note].append(window["step"])
        elif window.get("loss") is not None:
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
            other_windows.append({name: value for name, value in window.items() if name != "item"})
    if feedback:
        console.print(table.title)
        print_feedback(feedback)
    else:
        console.print(table)
    print_curves(report.get("fits", ()))
    for window in other_windows:
        for name, value in (window.get("counts") or window).items():
            console.print(f"  {name}: {value}", markup=False)
    for note, steps in steps_by_note.items():
        console.print(f"  note: {note} ({format_steps(steps)})", markup=False)
    _print_wait(console, report)
    if text := remark(report):
        console.print(f"{report['job']} is {text}", soft_wrap=True)


def _print_wait(console: Console, report: Mapping[str, Any]) -> None:
    """Print the reason why an unfinished job waits. For a stopped job, the remark at the end has the reason."""
    if report["waiting"] == PAUSED_BY_PERSON:
        job = report["job"]
        console.print(f"{job} is paused by a person. Continue with: lumos resume {job}", soft_wrap=True)
    elif report["waiting"] and not report.get("reason"):
        console.print(f"{report['job']} waits: {escape(report['waiting'])}")
