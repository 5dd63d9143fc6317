"""Questions to a database, answered in SQL. Models were not trained on it: prompts contain three solved questions.

The databases of the demonstrations are invented (spec/lumos.md 1.10).
"""

from __future__ import annotations

from lumos_queue.domains.base import Demonstration, Domain

_FIND = "Subgoal 1: Find the related tables in the database and their columns."


def _steps(
    schema: str, selection: tuple[str, str], condition: tuple[str, str], query: str
) -> tuple[tuple[str, str, str], ...]:
    """Return four steps: find the tables, write the selection, write the condition, finish the query.

    `selection` and `condition` are (words, SQL). The result of a step that writes SQL is this SQL.
    """
    return (
        (_FIND, "R1 = SHOW TABLES", f"Results: {schema}."),
        (f"Subgoal 2: {selection[0]}", f"R2 = {selection[1]}", selection[1]),
        (f"Subgoal 3: {condition[0]}", f"R3 = {condition[1]}", condition[1]),
        ("Subgoal 4: Finish the SQL query.", f"R4 = {query}", query),
    )


_DEMONSTRATIONS = (
    Demonstration(
        "How many lighthouses taller than 30 metres stand in each district?",
        _steps(
            "Table lighthouse has lighthouse_id (type: NUMBER), name (type: TEXT), height_m (type: NUMBER), "
            "district_id (type: NUMBER); Table district has district_id (type: NUMBER), title (type: TEXT)",
            (
                "Write the selection objects: the titles of districts, joined with their lighthouses, and the number "
                "of lighthouses.",
                "T1.title, COUNT(*) FROM district AS T1 JOIN lighthouse AS T2 ON T1.district_id = T2.district_id",
            ),
            (
                "Write the selection condition on the height and the grouping by district.",
                "WHERE T2.height_m > 30 GROUP BY T1.district_id",
            ),
            "SELECT T1.title, COUNT(*) FROM district AS T1 JOIN lighthouse AS T2 ON T1.district_id = T2.district_id "
            "WHERE T2.height_m > 30 GROUP BY T1.district_id",
        ),
    ),
    Demonstration(
        "Which three cheeses have matured the longest? Give their names, the oldest first.",
        _steps(
            "Table cheese has cheese_id (type: NUMBER), name (type: TEXT), milk (type: TEXT), months (type: NUMBER); "
            "Table dairy has dairy_id (type: NUMBER), village (type: TEXT)",
            ("Write the selection objects: the names of cheeses.", "name FROM cheese"),
            (
                "Write the selection condition: the order by the months, the longest first, and the limit.",
                "ORDER BY months DESC LIMIT 3",
            ),
            "SELECT name FROM cheese ORDER BY months DESC LIMIT 3",
        ),
    ),
    Demonstration(
        "What are the names of the puppeteers who have never played in 'The Salt Mill'?",
        _steps(
            "Table puppeteer has person_id (type: NUMBER), name (type: TEXT), born (type: NUMBER); Table performance "
            "has performance_id (type: NUMBER), person_id (type: NUMBER), play (type: TEXT), day (type: TIME)",
            ("Write the selection objects: the names of puppeteers.", "name FROM puppeteer"),
            (
                "Write the selection condition: leave out those who have a performance of this play.",
                "WHERE person_id NOT IN (SELECT person_id FROM performance WHERE play = 'The Salt Mill')",
            ),
            "SELECT name FROM puppeteer WHERE person_id NOT IN (SELECT person_id FROM performance WHERE play = "
            "'The Salt Mill')",
        ),
    ),
)

DOMAIN = Domain(
    name="intercode_sql",
    interface="lumos_queue.actions.sql.interface:SqlActions",
    session="lumos_queue.actions.sql.interface:SqlSession",
    calls=False,
    published_actions="",  # any SQL may be written: there is no list
    demonstrations=_DEMONSTRATIONS,
    default_shots=len(_DEMONSTRATIONS),
    ends_by_action=True,  # submitting the last query
)
