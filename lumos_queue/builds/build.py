"""Make a build: read every episode once, select among the usable episodes, write the rows and publish the folder."""

from __future__ import annotations

import json
import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from db.queries.filters import parse_where
from lumos_queue.builds.calls import call_rows, is_tool_agent
from lumos_queue.builds.candidates import BuildCandidate, Rules, examine
from lumos_queue.builds.card import card
from lumos_queue.builds.checks import ActionChecks
from lumos_queue.builds.contamination import TestSplits
from lumos_queue.builds.conversations import conversations_of
from lumos_queue.builds.database_facts import DatabaseFacts
from lumos_queue.builds.folder import CARD, MANIFEST, load_existing_build, open_staging_folder, publish
from lumos_queue.builds.formats import require_format, rows_of
from lumos_queue.builds.known_benchmarks import KnownBenchmarks
from lumos_queue.builds.licences import UNKNOWN, licence_of_unverified, warning
from lumos_queue.builds.options import BuildOptions
from lumos_queue.builds.own_files import count_own_rows
from lumos_queue.builds.preferences import examine_try, keep_try, make_pairs
from lumos_queue.builds.progress import EVERY, BuildStage, Tell, ignore_progress
from lumos_queue.builds.row_files import WrittenFile, files_as_json, write_rows
from lumos_queue.builds.selection import arrange, choose, drop_repeated_rows
from lumos_queue.builds.staging_database import StagingDatabase
from lumos_queue.builds.summary import with_flag
from lumos_queue.errors import SpecError
from lumos_queue.records import Role
from lumos_queue.util.version import code_version

if TYPE_CHECKING:
    from db.queries.trajectories import StoredEpisode


@dataclass(slots=True)
class Tally:
    """Counts of the episodes that were read, by outcome."""

    read: int = 0
    left_out: Counter[str] = field(default_factory=Counter)
    verdicts: Counter[tuple[str, str, bool]] = field(default_factory=Counter)  #: module, name, whether it rejects
    unwritten: Counter[str] = field(default_factory=Counter)  #: formulation and reason, where writing an episode failed
    repeated: int = 0  #: rows equal to another row of their file
    unverified: set[str] = field(default_factory=set)  #: benchmarks whose rows may not be the published ones
    #: benchmarks whose rows a person stated to be the published ones
    stated_benchmarks: set[str] = field(default_factory=set)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A build whose rows are written, but which is not yet in its target folder."""

    manifest: dict[str, Any]
    folder: Path | None  #: the folder to publish; None when the same build exists already


def build(
    episodes: Iterable[StoredEpisode],
    name: str,
    target: Path,
    options: BuildOptions,
    sources: KnownBenchmarks,
    facts: DatabaseFacts | None = None,
    tell: Tell = ignore_progress,
    expected_digest: str = "",
) -> tuple[dict[str, Any], bool]:
    """Make the build in the folder `target`. Return its manifest, and whether the build is new.

    If the folder has a build with the same options and rows, that build stays unchanged. `facts`: what the database
    knows about the episodes (database_facts.py); None for episodes from elsewhere. `expected_digest`: the digest of a
    preview; '' for any. Raises SpecError when the folder holds anything else, when no episode is usable, when the
    build has another digest, or when the disk fails; no file of the new build remains then.
    """
    with _prepare(episodes, name, target, options, sources, facts, tell) as draft:
        if expected_digest and draft.manifest["digest"] != expected_digest:
            raise SpecError(
                f"The preview was the build {expected_digest[:12]}, but the same query now gives "
                f"{draft.manifest['digest'][:12]}, because other episodes are stored: make a new preview."
            )
        if draft.folder is not None:
            tell(BuildStage.PUBLISHING, 0)
            publish(draft.folder, target)
    return draft.manifest, draft.folder is not None


def preview_build(
    episodes: Iterable[StoredEpisode],
    name: str,
    target: Path,
    options: BuildOptions,
    sources: KnownBenchmarks,
    facts: DatabaseFacts | None = None,
    tell: Tell = ignore_progress,
) -> tuple[dict[str, Any], bool]:
    """Return the manifest that `build` would make, and whether the build would be new. No file stays on the disk.

    Raises SpecError in the same cases as `build`.
    """
    with _prepare(episodes, name, target, options, sources, facts, tell) as draft:
        return draft.manifest, draft.folder is not None


@contextmanager
def _prepare(
    episodes: Iterable[StoredEpisode],
    name: str,
    target: Path,
    options: BuildOptions,
    sources: KnownBenchmarks,
    facts: DatabaseFacts | None,
    tell: Tell,
) -> Iterator[Prepared]:
    """Yield the complete build in a temporary folder beside the target, which is removed at the end of the block."""
    tell(BuildStage.TEST_SPLITS, 0)
    splits, facts = TestSplits(options.against, sources), facts or DatabaseFacts()
    labels_asked = any(term.field == "label" for term in parse_where(options.where).terms)
    options = replace(options, against=tuple(split.name for split in splits.splits))
    json_options = json.loads(
        json.dumps(options.as_json() | {"against": {split.name: split.digest for split in splits.splits}})
    )
    before = load_existing_build(target, json_options)
    require_format(options.format)
    try:
        with open_staging_folder(target) as scratch, closing(StagingDatabase(scratch / "staging.sqlite")) as database:
            database.insert("corrected", [{"episode": episode} for episode in facts.corrected])
            rules = Rules(options, sources, splits, facts=facts, labels_asked=labels_asked)
            tally = _gather(database, episodes, rules, tell)
            if options.format == "trl-preference":
                make_pairs(database)
                arrange(database, options)
            else:
                choose(database, options, tell)
            if options.format == "trl-sft":  # the first replies of two solutions are often the same row
                tally.repeated = drop_repeated_rows(database)
            folder = scratch / "build"
            folder.mkdir()
            tell(BuildStage.WRITING, 0)
            digest, files = write_rows(database, options.format, folder, json_options)
            if not files:
                raise SpecError(f"No episode makes a row of this build: {_explain(tally, database)}.")
            if before is not None:
                if before["digest"] != digest:
                    raise SpecError(
                        f"'{target}' holds the build {before['digest'][:12]}, but the same query now gives "
                        f"{digest[:12]}, because other episodes are stored: take another name, or remove the folder."
                    )
                yield Prepared(before, None)
                return
            manifest = _manifest(name, digest, json_options, tally, database, files)
            manifest["contamination"] = splits.report(*_benchmarks_and_domains(database)) | facts.report()
            if facts.audited:
                manifest["audit"] = facts.audited.as_json()
            if own_rows := count_own_rows(database, facts.files):
                manifest["own_files"] = own_rows
            (folder / MANIFEST).write_text(json.dumps(manifest, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
            (folder / CARD).write_text(card(manifest), encoding="utf-8")
            yield Prepared(manifest, folder)
    except (OSError, sqlite3.Error) as error:
        raise SpecError(f"The build '{target}' cannot be written: {error}.") from None


def _gather(database: StagingDatabase, episodes: Iterable[StoredEpisode], rules: Rules, tell: Tell) -> Tally:
    tally = Tally()
    with closing(ActionChecks(rules.sources)) as action_checks:
        switches = {
            action_checks.check_same_results: rules.options.reexecute,
            action_checks.check_other_numbers: rules.options.perturbed,
        }
        rules = replace(rules, checks=[check for check, is_on in switches.items() if is_on])
        for episode in episodes:
            if not tally.read % EVERY:
                tell(BuildStage.EPISODES, tally.read)
            tally.read += 1
            if episode.task.dataset in rules.facts.unverified:
                tally.unverified.add(episode.task.benchmark)
                episode = replace(episode, licence=licence_of_unverified(episode.licence))
            elif episode.task.dataset in rules.facts.stated_datasets:
                tally.stated_benchmarks.add(episode.task.benchmark)
            tally.verdicts.update((verdict.module, verdict.name, verdict.rejects) for verdict in episode.verdicts)
            if rules.options.format == "trl-preference":
                reason = _keep_try(database, episode, rules)
            else:
                reason = _keep_rows(database, examine(episode, rules), rules, tally)
            if reason:
                tally.left_out[reason] += 1
    tell(BuildStage.EPISODES, tally.read)
    return tally


def _keep_rows(database: StagingDatabase, candidate: BuildCandidate | str, rules: Rules, tally: Tally) -> str:
    """Stage a candidate and its rows. Return the reason for its exclusion; '' when it is included."""
    if isinstance(candidate, str):
        return candidate
    if is_tool_agent(candidate.episode.formulation):
        calls = [
            {"file": file, "key": key, "json": line, "turns": 1} for file, key, line in call_rows(candidate.episode)
        ]
        return _stage(database, candidate, calls) if calls else "no reply on the way to its answer"
    conversations = []
    problem = ""
    for name in rules.options.formulations:
        if is_tool_agent(name):
            continue  # a tool agent only gives rows of its own episodes
        try:
            conversations += conversations_of(candidate, name, rules.sources).items()
        except SpecError as error:
            problem = f"{name}: {error}"
            tally.unwritten[problem] += 1
    if not conversations:
        return problem or "no module of it was accepted"
    lines = [
        {"file": file, "key": conversation.id, "json": line, "turns": turns}
        for file, conversation in conversations
        for line, turns in rows_of(conversation, candidate, rules.options.format)
    ]
    return _stage(database, candidate, lines)


def _stage(database: StagingDatabase, candidate: BuildCandidate, lines: list[dict[str, Any]]) -> str:
    number = database.insert("candidate", [candidate.columns(json.dumps(lines))])
    database.insert("line", [{"candidate": number, **line} for line in lines])
    return ""


def _keep_try(database: StagingDatabase, episode: StoredEpisode, rules: Rules) -> str:
    attempt = examine_try(episode, rules)
    if isinstance(attempt, str):
        return attempt
    keep_try(database, *attempt)
    return ""


def _benchmarks_and_domains(database: StagingDatabase) -> tuple[set[str], set[str]]:
    """Return the benchmarks and the domains of the rows."""
    pairs = set(database.read("SELECT DISTINCT benchmark, domain FROM kept JOIN candidate ON id = candidate"))
    return {benchmark for benchmark, _ in pairs}, {domain for _, domain in pairs}


def _explain(tally: Tally, database: StagingDatabase) -> str:
    if not tally.read:
        return "no episode matches the filter"
    counts = tally.left_out + Counter(database.exclusions())
    return f"{tally.read:,} read; " + ", ".join(f"{count:,} {with_flag(why)}" for why, count in counts.most_common(5))


def _has_rows(benchmark: str, licences: dict[str, dict[str, int]], *, unknown: bool) -> bool:
    """Whether the build has rows of the benchmark under an unknown licence; if not `unknown`, under a known licence."""
    return any(
        benchmark in benchmarks for licence, benchmarks in licences.items() if licence.startswith(UNKNOWN) == unknown
    )


def _manifest(
    name: str, digest: str, options: dict[str, Any], tally: Tally, database: StagingDatabase, files: list[WrittenFile]
) -> dict[str, Any]:
    licences: dict[str, dict[str, int]] = {}
    levels: Counter[str] = Counter()
    origins: Counter[str] = Counter()
    rules: dict[str, dict[str, int]] = {}
    groups = database.read(
        "SELECT one.licence, one.benchmark, one.level, one.origin, one.rule, count(*) FROM kept "
        "JOIN candidate one ON one.id = kept.candidate JOIN line ON line.candidate = one.id "
        "GROUP BY 1, 2, 3, 4, 5 ORDER BY 1, 2, 3, 4, 5"
    )
    for licence, benchmark, level, origin, rule, rows in groups:
        counts = licences.setdefault(licence or UNKNOWN, {})
        counts[benchmark] = counts.get(benchmark, 0) + rows
        levels[level] += rows
        origins[origin] += rows
        if rule:
            rule_rows = rules.setdefault(benchmark, {})
            rule_rows[rule] = rule_rows.get(rule, 0) + rows
    exclusions = tally.left_out + Counter(database.exclusions())
    verdicts: dict[str, dict[str, int]] = {Role.PLANNER: {}, Role.GROUNDER: {}, "noted": {}}
    for (module, verdict, rejects), count in sorted(tally.verdicts.items()):
        counts = verdicts.setdefault(module if rejects else "noted", {})
        counts[verdict] = counts.get(verdict, 0) + count
    return {
        "name": name,
        "digest": digest,
        "options": options,
        "rows": sum(file.rows for file in files),
        "repeated_rows": tally.repeated,
        "files": files_as_json(files),
        "episodes": {
            "read": tally.read,
            "used": tally.read - exclusions.total(),
            "left_out": dict(sorted(exclusions.items())),
            "not_written": dict(sorted(tally.unwritten.items())),
        },
        "verdicts": verdicts,
        "levels": dict(levels),
        "origins": dict(origins),
        "rules": rules,
        "licences": licences,
        "not_verified": sorted(name for name in tally.unverified if _has_rows(name, licences, unknown=True)),
        "stated_published": sorted(
            name for name in tally.stated_benchmarks if _has_rows(name, licences, unknown=False)
        ),
        "warning": warning(licences),
        "code_version": code_version(),
        "created_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
