"""Select candidates: remove duplicate solutions, take the best of each task, apply a mix, and divide train and dev."""

from __future__ import annotations

from functools import lru_cache

from lumos_queue.builds.near_duplicates import bands, shingles, similarity
from lumos_queue.builds.options import BuildOptions
from lumos_queue.builds.progress import EVERY, BuildStage, Tell, ignore_progress
from lumos_queue.builds.staging_database import CONTENT_ORDER, StagingDatabase
from lumos_queue.errors import SpecError

#: The order of the episodes of one task.
RANKS = {
    "all": CONTENT_ORDER,
    "best": f"score DESC, checked DESC, subgoals, length(solution), {CONTENT_ORDER}",
    "shortest": f"subgoals, length(solution), checked DESC, {CONTENT_ORDER}",
    "newest": f"finished_at DESC, {CONTENT_ORDER}",
}


def choose(database: StagingDatabase, options: BuildOptions, tell: Tell = ignore_progress) -> None:
    """Exclude candidates, each with a reason, and arrange the others. Raises SpecError for an empty group of a mix."""
    tell(BuildStage.DUPLICATES, 0)
    _exclude_corrected(database)
    _exclude_repeated(database)
    if options.near:
        _exclude_near(database, options, tell)
    tell(BuildStage.CHOOSING, 0)
    if options.per_task:
        _limit_per_task(database, options)
    if options.mix:
        _apply_mix(database, options)
    if options.rows:
        _limit_rows(database, options)
    arrange(database, options)


def arrange(database: StagingDatabase, options: BuildOptions) -> None:
    """Give every remaining candidate its position and its part, train or dev. A source task has only one part.

    The part depends only on the task and the share: it is the same in every build with that share, and a task in dev
    stays in dev if the share is larger.
    """
    if options.dev_share:
        database.run("UPDATE candidate SET part = 'dev' WHERE share('dev', source) < ?", options.dev_share)
    database.run(
        "INSERT INTO kept (candidate, part) "
        f"SELECT id, part FROM candidate WHERE why IS NULL AND good ORDER BY {CONTENT_ORDER}"
    )


def drop_repeated_rows(database: StagingDatabase) -> int:
    """Drop rows that are repeated in a file, as when two episodes begin alike. Return the number of dropped rows."""
    return database.run(
        "DELETE FROM line WHERE rowid IN (SELECT rowid FROM (SELECT line.rowid, row_number() OVER "
        "(PARTITION BY kept.part, line.file, hash(line.json) ORDER BY kept.place, line.rowid) AS place "
        "FROM kept JOIN line ON line.candidate = kept.candidate) WHERE place > 1)"
    )


def _exclude_corrected(database: StagingDatabase) -> None:
    database.run(
        "UPDATE candidate SET why = 'corrected by a person' WHERE why IS NULL AND episode IN "
        "(SELECT parent FROM candidate WHERE parent IS NOT NULL)"
    )
    database.run(
        "UPDATE candidate SET why = 'corrected by a person, and the correction is not among those that fit' "
        "WHERE why IS NULL AND episode IN (SELECT episode FROM corrected)"
    )


def _exclude_repeated(database: StagingDatabase) -> None:
    """Exclude duplicate solutions. The strictest licence stays, because its terms apply to the text in any case."""
    order = f"strict DESC, licence, completeness DESC, checked DESC, origin, {CONTENT_ORDER}"
    database.run(
        "UPDATE candidate SET why = 'duplicate' WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER "
        f"(PARTITION BY text ORDER BY {order}) AS place FROM candidate WHERE why IS NULL) WHERE place > 1)"
    )


def _exclude_near(database: StagingDatabase, options: BuildOptions, tell: Tell) -> None:
    order = f"SELECT id, solution FROM candidate WHERE why IS NULL ORDER BY {_by_task(options)}"
    database.run("CREATE TEMP TABLE ranked AS SELECT id FROM candidate WHERE 0")
    database.run(f"INSERT INTO ranked SELECT id FROM ({order})")

    @lru_cache(maxsize=4096)
    def shingles_of(candidate: int) -> frozenset[int]:
        return shingles(database.one("SELECT solution FROM candidate WHERE id = ?", candidate))

    for index, (candidate,) in enumerate(database.read("SELECT id FROM ranked ORDER BY rowid")):
        if not index % EVERY:
            tell(BuildStage.NEAR_DUPLICATES, index)
        own_shingles = shingles_of(candidate)
        keys = bands(own_shingles, options.near)
        if any(
            similarity(own_shingles, shingles_of(neighbour)) >= options.near
            for neighbour in _neighbours(database, keys)
        ):
            database.exclude("near-duplicate", [candidate])
        else:
            database.insert("band", [{"key": key, "candidate": candidate} for key in dict.fromkeys(keys)])


def _neighbours(database: StagingDatabase, keys: list[bytes]) -> list[int]:
    placeholders = ", ".join("?" * len(keys))
    return [
        candidate
        for (candidate,) in database.read(f"SELECT DISTINCT candidate FROM band WHERE key IN ({placeholders})", *keys)
    ]


def _limit_per_task(database: StagingDatabase, options: BuildOptions) -> None:
    database.run(
        "UPDATE candidate SET why = 'others of its task come first' WHERE id IN (SELECT id FROM (SELECT id, "
        f"row_number() OVER (PARTITION BY benchmark, task ORDER BY {RANKS[options.select]}) AS place "
        "FROM candidate WHERE why IS NULL) WHERE place > ?)",
        options.per_task,
    )


def _apply_mix(database: StagingDatabase, options: BuildOptions) -> None:
    """Keep the largest mix in which every group fills its share. Raises SpecError for an empty group."""
    groups = ", ".join("?" * len(options.mix))
    group = f"CASE WHEN benchmark IN ({groups}) THEN benchmark ELSE domain END"
    names = list(options.mix)
    database.run(
        f"UPDATE candidate SET why = 'not in the mix' WHERE why IS NULL AND {group} NOT IN ({groups})", *names, *names
    )
    counts = dict(database.read(f"SELECT {group}, count(*) FROM candidate WHERE why IS NULL GROUP BY 1", *names))
    if empty := sorted(set(options.mix) - counts.keys()):
        raise SpecError(f"--mix names '{empty[0]}', but no episode of it remains: leave it out, or widen --where.")
    total = min(counts[name] / share for name, share in options.mix.items())
    for name, share in options.mix.items():
        database.run(
            "UPDATE candidate SET why = 'beyond its share of the mix' WHERE id IN (SELECT id FROM candidate "
            f"WHERE why IS NULL AND {group} = ? ORDER BY share(?, text), {CONTENT_ORDER} LIMIT -1 OFFSET ?)",
            *names,
            name,
            options.seed,
            int(total * share + 1e-6),
        )


def _limit_rows(database: StagingDatabase, options: BuildOptions) -> None:
    """Exclude candidates beyond the number of rows.

    Source task and seed decide, so that builds with other annotations of the same tasks select the same tasks.
    """
    database.run(
        "UPDATE candidate SET why = 'beyond the number of rows' WHERE id IN (SELECT id FROM candidate "
        f"WHERE why IS NULL ORDER BY share(?, source), {CONTENT_ORDER} LIMIT -1 OFFSET ?)",
        options.seed,
        options.rows,
    )


def _by_task(options: BuildOptions) -> str:
    return f"benchmark, length(row), row, {RANKS[options.select]}"
