"""The SQL that a generated store is made of. `e` is an episode with `e.k` subgoals, `s.i` the place of one of them."""

from __future__ import annotations

from sqlalchemy import Connection, text

from db.models import Base

PEOPLE = ("Maria", "Ahmed", "Yuki", "Tomas", "Amara", "Ingrid", "Kofi")
THINGS = (
    "apples",
    "stickers",
    "pencils",
    "marbles",
    "books",
    "tickets",
    "eggs",
    "bottles",
    "shells",
    "candles",
    "nails",
)
_WORK = ("adding", "multiplying", "dividing", "subtracting", "doubling")
_THING, _PERSON = "e.task * 7 + s.i", "e.task"


def question(number: str) -> str:
    """What task `number` asks."""
    person, thing = pick(number, PEOPLE), pick(f"{number} * 7", THINGS)
    return (
        f"{person} || ' has ' || ({number} * 13 % 997) || ' ' || {thing} || ' and buys ' || ({number} % 89) || "
        f"' more at the market, then shares all of them equally among ' || ({number} % 7 + 2) || ' friends. On the way "
        f"home it rains. How many ' || {thing} || ' does each friend get?'"
    )


def subgoal() -> str:
    """The subgoal's text."""
    return (
        f"'Subgoal ' || (s.i + 1) || '\\: Calculate the number of ' || {pick(_THING, THINGS)} || ' that ' || "
        f"{pick(_PERSON, PEOPLE)} || ' has by ' || {pick('e.id + s.i', _WORK)} || ' ' || (e.id * 13 % 997) || "
        f"' and the result of subgoal ' || s.i || '.'"
    )


def pick(number: str, words: tuple[str, ...]) -> str:
    """One of the words, in turn."""
    cases = " ".join(f"WHEN {index} THEN '{word}'" for index, word in enumerate(words))
    return f"(CASE ({number}) % {len(words)} {cases} END)"


def digest(connection: Connection) -> str:
    """Something as long and as little to be compressed as a stored digest."""
    if connection.dialect.name == "postgresql":
        return "decode(md5(random()\\:\\:text), 'hex')"
    return "randomblob(16)"


def insert(connection: Connection, table: str, columns: dict[str, str], source: str, count: int = 0) -> None:
    """Insert what the expressions give for each row of the source, where g(n) counts from 1 to `count`."""
    names, types = ", ".join(f'"{name}"' for name in columns), Base.metadata.tables[table].columns
    values = [
        f"CAST({value} AS {types[name].type.compile(dialect=connection.dialect)})"
        if connection.dialect.name == "postgresql"
        else value
        for name, value in columns.items()
    ]
    series = f"WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < {count}) " if count else ""
    connection.execute(text(f'INSERT INTO "{table}" ({names}) {series}SELECT {", ".join(values)} {source}'))
