"""Invariants of the database after any fault, as SQL queries for violations. They cover all jobs."""

from __future__ import annotations

from sqlalchemy import Connection, text

from db.queue.recount import differences

_STEPS = (
    "SELECT episode, attempt, position, branch FROM subgoal UNION ALL "
    "SELECT episode, attempt, position, branch FROM completion UNION ALL "
    "SELECT episode, attempt, position, branch FROM execution"
)
#: The steps of each accepted result.
_ACCEPTED = (
    f"SELECT e.id, s.position, s.branch FROM episode e JOIN ({_STEPS}) s "
    "ON s.episode = e.id AND s.attempt = e.attempt WHERE e.ending <> ''"
)
#: The time of the database, in seconds since 1970, in SQL.
CLOCK = {
    "postgresql": "extract(epoch FROM clock_timestamp())",
    "sqlite": "((julianday('now') - 2440587.5) * 86400.0)",
}


def _find_miscounts(column: str) -> str:
    return (
        f"SELECT e.id FROM episode e WHERE e.ending <> '' AND e.{column} <> (SELECT coalesce(sum(c.{column}), 0) "
        "FROM completion c WHERE c.episode = e.id AND c.attempt = e.attempt)"
    )


def _find_missing_blocks(table: str, column: str) -> str:
    return (
        f"SELECT s.episode, s.position FROM {table} s LEFT JOIN text_block b ON b.digest = s.{column} "
        f"WHERE s.{column} IS NOT NULL AND b.digest IS NULL"
    )


#: Name to a query for the rows that violate it. The names begin with their number in the requirements.
INVARIANTS = {
    "I1 a done item has an accepted result": (
        "SELECT i.id FROM item i LEFT JOIN episode e ON e.id = i.id "
        "WHERE i.state = 'done' AND i.task IS NOT NULL AND coalesce(e.ending, '') = ''"
    ),
    "I1 an episode has no result before its item is done": (
        "SELECT e.id FROM episode e JOIN item i ON i.id = e.id WHERE e.ending <> '' AND i.state <> 'done'"
    ),
    "I1 one episode for each task and sample of a job": (
        "SELECT job, task, sample FROM episode GROUP BY job, task, sample HAVING count(*) > 1"
    ),
    # Versions before 0.2.0 scored results of infra_error, too.
    "I1 an accepted result is scored once, anything else never": (
        "SELECT e.id FROM episode e LEFT JOIN score s ON s.episode = e.id AND s.metric = 'accuracy' "
        "GROUP BY e.id, e.ending HAVING count(s.episode) NOT BETWEEN "
        "CASE WHEN e.ending IN ('', 'infra_error') THEN 0 ELSE 1 END AND CASE WHEN e.ending = '' THEN 0 ELSE 1 END"
    ),
    "I2 accepted steps have the positions from 0 without a gap": (
        f"SELECT id FROM ({_ACCEPTED}) a GROUP BY id HAVING count(DISTINCT position) <> max(position) + 1"
    ),
    "I2 accepted steps at a position have the branches from 0 without a gap": (
        f"SELECT id, position FROM ({_ACCEPTED}) a GROUP BY id, position "
        "HAVING count(*) <> max(branch) + 1 OR count(DISTINCT branch) <> count(*)"
    ),
    "I2 an accepted attempt is on record": (
        "SELECT e.id FROM episode e LEFT JOIN attempt a ON a.episode = e.id AND a.number = e.attempt "
        "WHERE a.episode IS NULL"
    ),
    "I2 the prompt that a prompt continues is stored": (
        "SELECT c.episode, c.position FROM completion c LEFT JOIN completion b ON b.episode = c.episode "
        "AND b.attempt = c.attempt AND b.position = c.base AND b.branch = 0 AND b.role = c.role "
        "WHERE c.base IS NOT NULL AND (b.episode IS NULL OR c.base >= c.position)"
    ),
    **{
        f"I2 the text block behind {table}.{column} is stored": _find_missing_blocks(table, column)
        for table, column in (
            ("completion", "prefix"),
            ("completion", "delta_block"),
            ("execution", "result_block"),
            ("execution", "outputs_block"),
        )
    },
    "I3 nothing was written under a stale fence": "SELECT place, item, session, writer FROM fault_stale",
    "I4 an episode counts the calls of its accepted attempt": (
        "SELECT e.id FROM episode e WHERE e.ending <> '' AND e.calls <> ("
        "SELECT count(*) FROM completion c WHERE c.episode = e.id AND c.attempt = e.attempt)"
    ),
    "I4 an episode counts the prompt tokens of its accepted attempt": _find_miscounts("prompt_tokens"),
    "I4 an episode counts the completion tokens of its accepted attempt": _find_miscounts("completion_tokens"),
    "I4 a job counts its items": (
        "SELECT j.id FROM job j WHERE j.items <> (SELECT count(*) FROM item i WHERE i.job = j.id)"
    ),
    "I5 who holds an item is a live session": (
        "SELECT i.id FROM item i LEFT JOIN worker_session w ON w.id = i.session "
        "WHERE i.state = 'claimed' AND (w.id IS NULL OR w.ended_at IS NOT NULL)"
    ),
    "I5 no session holds an item that is not claimed": (
        "SELECT id FROM item WHERE state <> 'claimed' AND session IS NOT NULL"
    ),
    "I5 no lease has run out unseen": (
        "SELECT w.id FROM worker_session w JOIN heartbeat h ON h.session = w.id "
        "WHERE w.ended_at IS NULL AND h.at < {clock} - :lease"
    ),
    "I5 a job that is over has nothing to do": (
        "SELECT j.id FROM job j JOIN item i ON i.job = j.id "
        "WHERE j.state IN ('done', 'cancelled') AND i.state IN ('owed', 'claimed')"
    ),
}


def find_violations(connection: Connection, lease_seconds: float, has_witness: bool = True) -> dict[str, list]:
    """Return the broken invariants, each with up to five rows that violate it. No worker may be active.

    `has_witness`: whether the database has had the triggers of witness.py from the beginning.
    """
    clock, violations = CLOCK[connection.dialect.name], {}
    for name, query in INVARIANTS.items():
        if "fault_" in query and not has_witness:
            continue
        values = {"lease": lease_seconds} if ":lease" in query else {}
        rows = connection.execute(text(query.replace("{clock}", clock) + " LIMIT 5"), values)
        if bad := [list(row) for row in rows]:
            violations[name] = bad
    jobs = connection.execute(text("SELECT id FROM job")).scalars().all()
    if wrong := [[job, str(difference)] for job in jobs for difference in differences(connection, job)]:
        violations["I6 kept sums are those of the rows"] = wrong[:5]
    return violations
