"""Write the README.md of a build, the card that dataset hubs display, from its manifest."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from lumos_queue.builds import summary
from lumos_queue.builds.licences import name_rows
from lumos_queue.builds.own_files import describe_own_files
from lumos_queue.util.wording import format_average, format_interval, format_share, format_stored_time

_SPLITS = {"train": "train", "dev": "validation"}
_FORMAT_TEXT = {
    "lumos": "JSON lines `{dataset, id, messages}`, the layout of the released LUMOS training files.",
    "parquet": "Parquet with the same columns in every file; `gold` is JSON text, as it differs between benchmarks.",
    "trl-sft": "JSON lines `{prompt, completion}`, one for each reply, as plain text: TRL's SFTTrainer learns the "
    "completions only, and puts the tokenizer's end token after each.",
    "trl-preference": "JSON lines `{prompt, chosen, rejected}` as plain text, for TRL's DPOTrainer.",
}


def card(manifest: Mapping[str, Any]) -> str:
    """Return the text of the card. Its head names the files of each split, for the library `datasets`."""
    return "\n".join(["---", *_head(manifest), "---", "", *_body(manifest), ""])


def _head(manifest: Mapping[str, Any]) -> list[str]:
    licence, *further_licences = manifest["licences"]
    spdx = None if further_licences else {"MIT": "mit", "Apache-2.0": "apache-2.0"}.get(licence)
    lines = [f"license: {spdx or 'other'}", f"pretty_name: {json.dumps(manifest['name'])}", "configs:"]
    configs: dict[str, list[dict[str, Any]]] = {}
    for file in manifest["files"]:
        configs.setdefault(file["file"].rpartition("/")[2].rpartition(".")[0], []).append(file)
    for name, files in configs.items():
        lines += [f"- config_name: {name}", "  data_files:"]
        for file in files:
            lines += [f"  - split: {_SPLITS[file['part']]}", f"    path: {file['file']}"]
    return lines


def _body(manifest: Mapping[str, Any]) -> list[str]:
    options, episodes = manifest["options"], manifest["episodes"]
    lines = [f"# {manifest['name']}", "", _FORMAT_TEXT[options["format"]], ""]
    if manifest["warning"]:
        lines += [f"**{manifest['warning']}**", ""]
    turns = summary.has_turns(manifest)
    lines += ["| file | rows | average turns |", "|---|--:|--:|"] if turns else ["| file | rows |", "|---|--:|"]
    for file in manifest["files"]:
        lines.append(
            f"| {file['file']} | {file['rows']:,} |" + (f" {format_average(file['average_turns'])} |" if turns else "")
        )
    lines += ["", "| benchmark | rows | licence |", "|---|--:|---|"]
    for licence, benchmarks in manifest["licences"].items():
        rows_by_name = {name_rows(manifest, name, licence): rows for name, rows in benchmarks.items()}
        lines += [f"| {_cell(name)} | {rows:,} | {_cell(licence)} |" for name, rows in rows_by_name.items()]
    if own_files := describe_own_files(manifest):
        lines += ["", *(f"- {text}" for text in own_files)]
    lines += ["", "| how a row was checked | rows |", "|---|--:|"]
    lines += [f"| {level} | {rows:,} |" for level, rows in summary.levels(manifest)]
    if rules := manifest.get("rules"):
        lines += ["", "| benchmark | rules that made the annotations | rows |", "|---|---|--:|"]
        lines += [
            f"| {_cell(benchmark)} | {_cell(rule)} | {rows:,} |"
            for benchmark, counts in rules.items()
            for rule, rows in counts.items()
        ]
    lines += _describe_audit(manifest)
    lines += ["", f"Made from {episodes['used']:,} of {episodes['read']:,} episodes", ""]
    lines += [f"- where `{options['where'] or 'any'}`"]
    lines += [f"- left out {count:,}: {why}" for why, count in summary.exclusions(manifest)]
    lines += ["", "Task texts were compared with these test splits (numbers and names masked; equal, or 13 words)", ""]
    for name, check in manifest["contamination"].items():
        description = check if isinstance(check, str) else f"{check['rows']:,} rows, {check['unreadable']:,} unreadable"
        lines.append(f"- {name}: {description}")
    created_at = format_stored_time(manifest["created_at"])
    return [
        *lines,
        "",
        f"Digest `{manifest['digest']}`, code {manifest['code_version']}, {created_at}.",
        "`manifest.json` has every option and count, `lineage.jsonl` the episode of each row.",
    ]


def _describe_audit(manifest: Mapping[str, Any]) -> list[str]:
    """Return lines about the audit by which strata were kept or left out; none without an audit."""
    if not (audit := manifest.get("audit")):
        return []
    sample = f"a sample that was drawn with seed {audit['seed']} where `{audit['query'] or 'any'}`"
    lines = ["", f"Only {_cell(summary.describe_audit(manifest))}. People labelled {sample}.", ""]
    lines += ["| stratum | episodes | labels | precision | 95 % interval | |", "|---|--:|--:|--:|--:|---|"]
    for stratum in audit["strata"]:
        share = interval = ""
        if stratum["precision"] is not None:
            share, interval = format_share(stratum["precision"]), format_interval(*stratum["ci95"])
        cells = [_cell(stratum["stratum"]), f"{stratum['episodes']:,}", f"{stratum['judged']:,}", share, interval]
        lines.append(f"| {' | '.join(cells)} | {'kept' if stratum['retained'] else 'left out'} |")
    return lines


def _cell(text: str) -> str:
    """Return the text as a cell of a Markdown table, because a licence may be any text that a person wrote."""
    return " ".join(text.split()).replace("|", "\\|")
