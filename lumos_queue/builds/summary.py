"""Describe a manifest for people: in the terminal and on the card."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lumos_queue.builds.candidates import NOT_ASKED_FOR
from lumos_queue.builds.contamination import NOT_CHECKED
from lumos_queue.builds.licences import name_rows
from lumos_queue.builds.own_files import describe_own_files
from lumos_queue.records import LEVELS, Role
from lumos_queue.util.wording import format_exact_share, format_measurement, format_share, format_stored_time

_REJECTED = "rejected: "  # and the name of a filter
_SWITCHES = {
    "reexecute": "actions run again, other results left out",
    "perturbed": "right with other numbers, too",
    "allow_test": "episodes of test splits allowed",
    "allow_contaminated": "tasks of test sets allowed",
}


def properties(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (name, text) of the sources and options of a build; unused options are omitted."""
    options = manifest["options"]
    pairs = [
        ("episodes where", options["where"] or "any"),
        ("format", options["format"]),
        ("formulations", ", ".join(options["formulations"])),
        (
            "selection",
            f"{options['per_task']:,} of a task, {options['select']} first" if options["per_task"] else "all",
        ),
        ("check level", f"at least {options['level']}" if options["level"] else ""),
        ("audit", describe_audit(manifest)),
        ("mix", ", ".join(f"{name} {format_share(share)}" for name, share in options["mix"].items())),
        ("near-duplicates", f"left out from a similarity of {options['near']:g}" if options["near"] else ""),
        (
            "dev share",
            f"{format_exact_share(options['dev_share'])} of the source tasks" if options["dev_share"] else "none",
        ),
        ("seed", str(options["seed"])),
        ("further", "; ".join(text for name, text in _SWITCHES.items() if options[name])),
        ("test sets", test_sets(manifest)),
        ("licences", licences(manifest)),
        ("own files", "; ".join(describe_own_files(manifest))),
        ("origins", ", ".join(f"{name} {rows:,} rows" for name, rows in manifest.get("origins", {}).items())),
        ("rules", "; ".join(f"{name}: {text}" for name, text in describe_rules(manifest))),
        ("made", f"{format_stored_time(manifest['created_at'])}, code {manifest['code_version']}"),
    ]
    return [(name, text) for name, text in pairs if text]


def describe_audit(manifest: Mapping[str, Any]) -> str:
    """Return a text about the audit whose precision the build requires; '' if it requires none."""
    if not (audit := manifest.get("audit")):
        return ""
    retained = [stratum for stratum in audit["strata"] if stratum["retained"]]
    text = (
        f"strata of {audit['name']} with a precision of at least {format_exact_share(audit['min_precision'])} and "
        f"{audit['min_labels']} labels or more: {len(retained)} of {len(audit['strata'])} strata"
    )
    if audit["precision"] is None:
        return text
    return f"{text}, together {format_measurement(audit['precision'], audit['ci95'])}"


def describe_rules(manifest: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return (benchmark, rows by the rules that made the annotations), without rows of runs."""
    return [
        (name, ", ".join(f"{rule} {rows:,} rows" for rule, rows in counts.items()))
        for name, counts in manifest.get("rules", {}).items()
    ]


def test_sets(manifest: Mapping[str, Any]) -> str:
    """Return a text that lists the test sets that task texts were compared with, and the sets not compared."""
    checked_splits, other_splits = [], []
    for key, check in manifest["contamination"].items():
        name = f"test splits {key}" if key == "stored here" else key
        if isinstance(check, str):
            other_splits.append(name + check.removeprefix(NOT_CHECKED))
        else:
            unreadable = f", {check['unreadable']:,} unreadable" if check["unreadable"] else ""
            checked_splits.append(f"{name} ({check['rows']:,} rows{unreadable})")
    text = f"checked: {', '.join(checked_splits) or 'none'}"
    return f"{text}; {NOT_CHECKED}: {', '.join(other_splits)}" if other_splits else text


def list_test_overlaps(manifest: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return (reason, episodes) for episodes that were left out because their tasks are in a test split."""
    counts = manifest["episodes"]["left_out"]
    return [(why, count) for why, count in sorted(counts.items()) if why.startswith(("stands in ", "of a test split"))]


def with_flag(why: str) -> str:
    """Return the reason for an exclusion, with the option that includes such episodes, if there is one."""
    if why.startswith("of a test split"):
        return f"{why} (--allow-test uses them)"
    if why.startswith("stands in "):
        return f"{why} (--allow-contaminated keeps them)"
    if why.endswith(NOT_ASKED_FOR):
        return f"{why} (--formulations {why.removeprefix('made by ').partition(',')[0]} writes them)"
    return why


def licences(manifest: Mapping[str, Any]) -> str:
    """Return each licence with the rows of each benchmark under it."""
    return "; ".join(
        f"{name}: "
        + ", ".join(f"{name_rows(manifest, benchmark, name)} {rows:,} rows" for benchmark, rows in counts.items())
        for name, counts in manifest["licences"].items()
    )


def levels(manifest: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return (check level, rows), the weakest level first; rows without any check are 'not checked'."""
    counts = manifest["levels"]
    return [(level or "not checked", counts[level]) for level in ("", *LEVELS) if level in counts]


def has_turns(manifest: Mapping[str, Any]) -> bool:
    """Whether the rows are conversations; rows for TRL are a prompt and a reply each."""
    return not manifest["options"]["format"].startswith("trl-")


def exclusions(manifest: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return (reason, number of excluded episodes), the most frequent first.

    Excluded and used episodes add up to the read episodes. All episodes that filters rejected have one reason here,
    because `rejections` has the counts of each filter.
    """
    counts: dict[str, int] = {}
    for why, count in manifest["episodes"]["left_out"].items():
        why = "rejected by filters, planner and grounder" if why.startswith(_REJECTED) else why
        counts[why] = counts.get(why, 0) + count
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))


def list_unwritten_formulations(manifest: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return (formulation and reason, episodes) for episodes that were used for other formulations."""
    episodes = manifest["episodes"]
    counts = {why: count - episodes["left_out"].get(why, 0) for why, count in episodes["not_written"].items()}
    return [(why, count) for why, count in counts.items() if count > 0]


def rejections(manifest: Mapping[str, Any]) -> list[tuple[str, int, int]]:
    """Return (filter, rejected planner rows, rejected grounder rows) of the read episodes, the most frequent first."""
    planner, grounder = manifest["verdicts"].get(Role.PLANNER, {}), manifest["verdicts"].get(Role.GROUNDER, {})
    rows = [(name, planner.get(name, 0), grounder.get(name, 0)) for name in planner.keys() | grounder.keys()]
    return sorted(rows, key=lambda row: (-max(row[1:]), row[0]))
