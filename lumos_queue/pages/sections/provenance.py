"""The section on the provenance of figures: code, data, seeds, settings, and the reported identity of each endpoint."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from lumos_queue.pages.blocks import Block, Table, Text
from lumos_queue.pages.limits import PageLimits, truncate
from lumos_queue.pages.material import JobMaterial, Material
from lumos_queue.reports.job_report import JobReport
from lumos_queue.util.plugins import Plugin
from lumos_queue.util.wording import format_time, plain

SHORT = 12  #: characters of a digest in the table that compares jobs
OPEN = 2  #: a page with more jobs folds their facts


def provenance(material: Material, limits: PageLimits) -> Iterator[Block]:
    max_jobs = max(OPEN, limits.rows // 10)
    jobs, excess = material.jobs[:max_jobs], len(material.jobs) - max_jobs
    if len(material.jobs) > OPEN:
        yield _versions_of(material)
    yield _endpoints(jobs, limits)
    for job in jobs:
        rows = [(name, truncate(value, limits.text)) for name, value in _facts(job) if value]
        yield Table(
            f"Job {job.label}", ["fact", "value"], rows, texts=frozenset({0, 1}), folded=len(material.jobs) > OPEN
        )
    if excess > 0:
        yield Text(f"Endpoints and settings of {excess:,} further jobs are left out. They are in: lumos job JOB")


def _versions_of(material: Material) -> Table:
    """Return the table of versions, seeds and short digests, which must be equal in jobs of the same experiment."""
    rows = [
        [
            job.label,
            ", ".join(_list_versions(job)) or job.row.code_version,
            str(job.row.seed),
            *((digest or "")[:SHORT] for digest in (job.row.digest, job.row.dataset, job.row.agent)),
        ]
        for job in material.jobs
    ]
    return Table("Versions", ["job", "code", "seed", "request", "dataset", "agent"], rows, texts=frozenset(range(6)))


def _list_versions(job: JobMaterial) -> list[str]:
    return [version.code_version for version in job.report.episodes.code_versions] if job.report.episodes else []


def _endpoints(jobs: Sequence[JobMaterial], limits: PageLimits) -> Table:
    rows = [
        [
            job.label,
            endpoint.role,
            truncate(endpoint.url, limits.text),
            truncate(_identity(endpoint.identity), limits.text),
            format_time(endpoint.seen_at),
        ]
        for job in jobs
        for endpoint in job.endpoints
    ]
    note = "The identity that each server reported. An endpoint with two rows reported another identity later."
    heads = ["job", "role", "endpoint", "identity", "seen"]
    return Table("Endpoints", heads, rows, note, frozenset(range(5)))


def _identity(identity: Mapping[str, Any]) -> str:
    return ", ".join(f"{plain(str(name))} {_as_text(value)}" for name, value in identity.items())


def _facts(job: JobMaterial) -> Iterator[tuple[str, str]]:
    row, report, episodes = job.row, job.report, job.report.episodes
    yield "job", row.id
    yield "name", row.name
    yield "tags", ", ".join(f"{key}={value}" for key, value in job.tags.items())
    yield "kind", row.kind
    yield "made from", row.parent or ""
    yield "tasks chosen by", row.chosen
    yield "submitted", f"{format_time(row.created_at)} by {row.submitted_by}, project {row.project}"
    yield "began", format_time(row.started_at)
    yield "ended", format_time(row.finished_at)
    code = [(version.code_version, version.episodes) for version in episodes.code_versions] if episodes else []
    yield "code", _versions(code) or row.code_version
    for plugin in row.plugins or ():
        yield f"plug-in {plugin['name']}", str(Plugin.from_json(plugin))
        for former in plugin.get("earlier", ()):
            yield f"until {format_time(former['until'])}", f"{Plugin.from_json(former)}, then accepted"
    yield "seed", str(row.seed)
    yield "digest of the request", row.digest
    yield "benchmark", f"{row.benchmark} ({row.split})" if row.split else row.benchmark
    yield "rows", report.row_origin.text if report.row_origin else ""
    yield "sha256 of the data file", report.row_origin.file_sha256 if report.row_origin else ""
    yield "digest of the dataset", row.dataset or ""
    yield "formulation", f"{row.formulation} version {report.formulation_version or 1}" if row.formulation else ""
    yield "descriptions of tools", report.descriptions or ""
    yield "answer at the limit", report.scoring.at_limit if report.scoring else ""
    yield "digest of the agent", row.agent
    for role, heads in episodes.prompts.items() if episodes else ():
        yield f"prompts of {plain(role)}", _versions([(head.prefix, head.episodes) for head in heads])
    yield "answer reader", report.reader or ""
    for role in report.reply_endings or ():
        yield f"replies of {role}", format_reply_endings(report, role)
    for metric, versions in report.scoring.versions.items() if report.scoring else ():
        texts = [f"{version} ({count:,} episodes)" for version, count in versions.items()]
        yield f"scorer of {plain(metric)}", ", ".join(texts)
    for remark in (report.scoring.remarks or ()) if report.scoring else ():
        yield "remark on scores", remark
    for name, value in _settings(row.spec):
        yield name, value
    for name, value in (report.requests or {}).items():
        yield name, value
    for name, value in (report.tools or {}).items():
        yield f"tool setting {plain(str(name))}", _as_text(value)


def format_reply_endings(report: JobReport, role: str) -> str:
    """Return how many replies of a role were cut at the limit of tokens or led to no answer; '' for none."""
    if (endings := (report.reply_endings or {}).get(role)) is None:
        return ""
    parts = [f"{endings.cut:,} cut at the limit of tokens"] if endings.cut else []
    parts += [f"{endings.unanswered:,} without an answer"] if endings.unanswered else []
    return f"of {endings.replies:,}: {', '.join(parts)}" if parts else ""


def _versions(versions: Sequence[tuple[str, int]]) -> str:
    """Return versions with their numbers of episodes as text; a single version alone."""
    if len(versions) == 1:
        return versions[0][0]
    return ", ".join(f"{version} ({episodes:,} episodes)" for version, episodes in versions)


def _settings(spec: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the stored settings of the request, except those that the page has elsewhere."""
    request = spec.get("infer", spec)
    excluded_names = (
        "agent",
        "benchmark",
        "dataset",
        "split",
        "formulation",
        "seed",
        "formulation_version",
        "rows",
        "kind",
    )
    for name, value in request.items():
        if name not in excluded_names and value not in (None, "", {}, [], False):
            yield plain(name), _as_text(value)
    agent = request.get("agent")
    for name, value in agent.items() if isinstance(agent, Mapping) else ():
        if name not in ("tools", "at_limit") and value not in (None, "", {}, []):
            yield f"agent: {plain(name)}", _as_text(value)


def _as_text(value: Any) -> str:
    """Return a stored value as text; nested values are JSON."""
    if isinstance(value, Mapping) and not any(isinstance(part, (Mapping, list)) for part in value.values()):
        return ", ".join(f"{name} {part}" for name, part in value.items())
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)
