"""What must hold in the database after any fault, as SQL that finds the exceptions."""

from __future__ import annotations

from sqlalchemy import Connection, text

#: name: a query for the rows that break it
INVARIANTS = {
    "an item is done, or owed, or cancelled once nobody works": (
        "SELECT id FROM item WHERE job = :job AND state = 'claimed'"
    ),
    "a done item has exactly one accepted result": (
        "SELECT i.id FROM item i LEFT JOIN episode e ON e.id = i.id "
        "WHERE i.job = :job AND i.state = 'done' AND coalesce(e.ending, '') = ''"
    ),
    "an episode has no result before its item is done": (
        "SELECT e.id FROM episode e JOIN item i ON i.id = e.id "
        "WHERE e.job = :job AND e.ending <> '' AND i.state <> 'done'"
    ),
    "one episode for each task and sample": (
        "SELECT task, sample FROM episode WHERE job = :job GROUP BY task, sample HAVING count(*) > 1"
    ),
    "accepted steps are contiguous from 0": (
        "SELECT e.id FROM episode e JOIN ("
        "  SELECT episode, attempt, position FROM subgoal UNION SELECT episode, attempt, position FROM completion"
        "  UNION SELECT episode, attempt, position FROM execution) s ON s.episode = e.id AND s.attempt = e.attempt "
        "WHERE e.job = :job AND e.ending <> '' GROUP BY e.id HAVING count(*) <> max(s.position) + 1"
    ),
    "an episode counts the calls of its accepted attempt": (
        "SELECT e.id FROM episode e WHERE e.job = :job AND e.ending <> '' AND e.calls <> ("
        "  SELECT count(*) FROM completion c WHERE c.episode = e.id AND c.attempt = e.attempt)"
    ),
    "an episode counts the tokens of its accepted attempt": (
        "SELECT e.id FROM episode e WHERE e.job = :job AND e.ending <> '' AND e.completion_tokens <> ("
        "  SELECT coalesce(sum(c.completion_tokens), 0) FROM completion c "
        "  WHERE c.episode = e.id AND c.attempt = e.attempt)"
    ),
    "nobody works who is declared dead": (
        "SELECT i.id FROM item i JOIN worker_session w ON w.id = i.session WHERE w.ended_at IS NOT NULL"
    ),
}


def broken(connection: Connection, job: str) -> dict[str, list]:
    """The invariants that do not hold for the job, each with up to five rows that break it."""
    found = {
        name: connection.execute(text(f"{query} LIMIT 5"), {"job": job}).all() for name, query in INVARIANTS.items()
    }
    return {name: rows for name, rows in found.items() if rows}
