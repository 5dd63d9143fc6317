"""Which candidates stay: no twice-told solution, the best of each task, the shares of a mix, and what is held apart."""

from __future__ import annotations

from functools import lru_cache

from lumos_queue.builds import near
from lumos_queue.builds.options import BuildOptions
from lumos_queue.builds.staging import CONTENT_ORDER, Workbench
from lumos_queue.errors import SpecError

#: What comes first among the episodes of one task.
RANKS = {
    "all": CONTENT_ORDER,
    "best": f"score DESC, checked DESC, subgoals, length(solution), {CONTENT_ORDER}",
    "shortest": f"subgoals, length(solution), checked DESC, {CONTENT_ORDER}",
    "newest": f"finished_at DESC, {CONTENT_ORDER}",
}


def choose(bench: Workbench, options: BuildOptions) -> None:
    """Leave candidates out, each with why, and put those that stay in order and in parts."""
    _corrected(bench)
    _repeated(bench)
    if options.near:
        _near(bench, options)
    if options.per_task:
        _per_task(bench, options)
    if options.mix:
        _mixed(bench, options)
    arrange(bench, options)


def arrange(bench: Workbench, options: BuildOptions) -> None:
    """Give every candidate that stays its place and its part: a source task lies wholly in train or wholly in dev.

    Which, depends on the task alone: in every build of the same share, and in dev of one with a larger share.
    """
    if options.dev_share:
        bench.run("UPDATE candidate SET part = 'dev' WHERE share('dev', source) < ?", options.dev_share)
    bench.run(
        "INSERT INTO kept (candidate, part) "
        f"SELECT id, part FROM candidate WHERE why IS NULL AND good ORDER BY {CONTENT_ORDER}"
    )


def repeated_rows(bench: Workbench) -> int:
    """Leave each row that stays in its file once, and return how many went: two episodes may begin alike."""
    return bench.run(
        "DELETE FROM line WHERE rowid IN (SELECT rowid FROM (SELECT line.rowid, row_number() OVER "
        "(PARTITION BY kept.part, line.file, hash(line.json) ORDER BY kept.place, line.rowid) AS place "
        "FROM kept JOIN line ON line.candidate = kept.candidate) WHERE place > 1)"
    )


def _corrected(bench: Workbench) -> None:
    bench.run(
        "UPDATE candidate SET why = 'corrected by a person' WHERE why IS NULL AND episode IN "
        "(SELECT parent FROM candidate WHERE parent IS NOT NULL)"
    )
    bench.run(
        "UPDATE candidate SET why = 'corrected by a person, and the correction is not among those that fit' "
        "WHERE why IS NULL AND episode IN (SELECT episode FROM corrected)"
    )


def _repeated(bench: Workbench) -> None:
    """Of equal solutions the one under the strictest licence stays: its terms hold for the text wherever it is from."""
    order = f"strict DESC, licence, completeness DESC, checked DESC, origin, {CONTENT_ORDER}"
    bench.run(
        "UPDATE candidate SET why = 'duplicate' WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER "
        f"(PARTITION BY text ORDER BY {order}) AS place FROM candidate WHERE why IS NULL) WHERE place > 1)"
    )


def _near(bench: Workbench, options: BuildOptions) -> None:
    order = f"SELECT id, solution FROM candidate WHERE why IS NULL ORDER BY {_by_task(options)}"
    bench.run("CREATE TEMP TABLE ranked AS SELECT id FROM candidate WHERE 0")
    bench.run(f"INSERT INTO ranked SELECT id FROM ({order})")

    @lru_cache(maxsize=4096)
    def runs_of(candidate: int) -> frozenset[int]:
        return near.runs(bench.one("SELECT solution FROM candidate WHERE id = ?", candidate))

    for (candidate,) in bench.read("SELECT id FROM ranked ORDER BY rowid"):
        mine = runs_of(candidate)
        keys = near.bands(mine, options.near)
        if any(near.similarity(mine, runs_of(other)) >= options.near for other in _neighbours(bench, keys)):
            bench.leave_out("near-duplicate", [candidate])
        else:
            bench.insert("band", [{"key": key, "candidate": candidate} for key in dict.fromkeys(keys)])


def _neighbours(bench: Workbench, keys: list[bytes]) -> list[int]:
    wanted = ", ".join("?" * len(keys))
    return [one for (one,) in bench.read(f"SELECT DISTINCT candidate FROM band WHERE key IN ({wanted})", *keys)]


def _per_task(bench: Workbench, options: BuildOptions) -> None:
    bench.run(
        "UPDATE candidate SET why = 'others of its task come first' WHERE id IN (SELECT id FROM (SELECT id, "
        f"row_number() OVER (PARTITION BY benchmark, task ORDER BY {RANKS[options.select]}) AS place "
        "FROM candidate WHERE why IS NULL) WHERE place > ?)",
        options.per_task,
    )


def _mixed(bench: Workbench, options: BuildOptions) -> None:
    """As much as every group can fill of its share. Raises SpecError for a group that has nothing."""
    groups = ", ".join("?" * len(options.mix))
    group = f"CASE WHEN benchmark IN ({groups}) THEN benchmark ELSE domain END"
    names = list(options.mix)
    bench.run(
        f"UPDATE candidate SET why = 'not in the mix' WHERE why IS NULL AND {group} NOT IN ({groups})", *names, *names
    )
    held = dict(bench.read(f"SELECT {group}, count(*) FROM candidate WHERE why IS NULL GROUP BY 1", *names))
    if empty := sorted(set(options.mix) - held.keys()):
        raise SpecError(f"--mix asks for '{empty[0]}', of which no episode is left: leave it out or widen --where.")
    total = min(held[name] / share for name, share in options.mix.items())
    for name, share in options.mix.items():
        bench.run(
            "UPDATE candidate SET why = 'beyond its share of the mix' WHERE id IN (SELECT id FROM candidate "
            f"WHERE why IS NULL AND {group} = ? ORDER BY share(?, text), {CONTENT_ORDER} LIMIT -1 OFFSET ?)",
            *names, name, options.seed, int(total * share + 1e-6),
        )  # fmt: skip


def _by_task(options: BuildOptions) -> str:
    return f"benchmark, length(row), row, {RANKS[options.select]}"
