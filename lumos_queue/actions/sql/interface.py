"""The actions of InterCode-SQL: `R1 = SHOW TABLES`, fragments that are echoed, and statements on a throw-away copy.

A query that succeeds is a submission, even without rows; a query that fails is not. The episode ends after as many
submissions as `--tool turns` allows.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lumos_queue.actions.session import ActionSession, Value
from lumos_queue.actions.sql.databases import Databases
from lumos_queue.actions.sql.tools import open_tools, prepare_tools
from lumos_queue.actions.sql.wording import is_statement
from lumos_queue.episode import Diverged, StepContext
from lumos_queue.records import Execution, Task
from lumos_queue.settings import Settings

MAX_SHOWN = 2000  #: characters of a result in a prompt


class SqlActions:
    """The actions of InterCode-SQL, with the options in `tools.OPTIONS`.

    The databases are SQLite files or on a server. No statement changes them.
    """

    domain = "intercode_sql"
    roles: tuple[str, ...] = ()
    defaults: Mapping[str, str] = {"writes": "no", "turns": "1"}

    def __init__(self, tools: Mapping[str, str] | None = None, settings: Settings | None = None):
        """Raises SpecError when the databases are missing, or have changed since submission."""
        self._databases = Databases(open_tools(tools or {}), settings)

    @staticmethod
    def prepare(tools: Mapping[str, str]) -> dict[str, str]:
        return prepare_tools(tools)

    def begin(self, task: Task) -> SqlSession:
        return SqlSession(self._databases, task.inputs.get("database"))

    async def close(self) -> None:
        await self._databases.close()


class SqlSession(ActionSession):
    """Runs the statements of one episode. The session has no state, because the episode's actions contain all writes.

    Each statement begins with a new copy and the earlier writes, also in a resumed episode. If a repeated write changes
    another number of rows than the recorded number, Diverged is raised.
    """

    def __init__(self, databases: Databases, database: object):
        self._databases, self._database = databases, database

    async def alias(self, text: str, context: StepContext) -> Value:
        """Execute an action. SQL actions have no call syntax, so every action comes here."""
        if text in context.variables:  # no second write, submission or copy of the rows
            return {"kind": "alias", "text": context.variables[text]["text"], "of": text}
        if not is_statement(text):
            return {"kind": "fragment", "text": text}
        earlier_values = [value for _, execution in context.done for value in _values(execution)]
        earlier_writes = [value for value in earlier_values if value["kind"] == "written"]
        tools = self._databases.tools
        writes = [value["sql"] for value in earlier_writes] if tools.writes else None
        reply = await self._databases.ask(self._database, text, writes)
        if reply["earlier"] != [value["changed"] for value in earlier_writes]:
            raise Diverged(f"the writes on '{self._database}' no longer change what they changed before")
        if reply["kind"] == "query":
            submission = 1 + max((value.get("submission", 0) for value in earlier_values), default=0)
            return {**_query(reply), "submission": submission, "ends": submission >= tools.turns}
        return _value(reply, text)


def _values(execution: Execution) -> list[Mapping[str, Any]]:
    return [value for value in execution.values if "kind" in value] if execution.ok else []


def _query(reply: Mapping[str, Any]) -> dict[str, Any]:
    rows = reply["rows"]
    return {"kind": "rows", "text": show_rows(rows), "columns": reply["columns"], "rows": rows, "sql": reply["sql"]}


def _value(reply: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return the value of a statement that is no query, and so no submission."""
    match reply["kind"]:
        case "write":
            count = reply["changed"]
            return {"kind": "written", "text": f"{count} rows changed", "sql": text, "changed": count}
        case "tables":
            display = f"Results: {reply['shown']}."
        case _:
            display = show_rows(reply["rows"])
    return {"kind": reply["kind"], "text": display, "columns": reply["columns"], "rows": reply["rows"]}


def show_rows(rows: list[list[Any]]) -> str:
    """Return the rows as InterCode prints them, up to MAX_SHOWN characters: `[('Joe', 3)] and 18 more rows`."""
    lines, length = [], 0
    for row in rows:
        line = repr(tuple(row))
        length += len(line) + 2
        if length > MAX_SHOWN:
            if not lines:
                lines.append(f"{line[:MAX_SHOWN]}…")
            break
        lines.append(line)
    suffix = f" and {len(rows) - len(lines)} more rows" if len(lines) < len(rows) else ""
    return f"[{', '.join(lines)}]{suffix}"
