"""Count the rows of a conversion that each filter rejects or notes, by module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from db.engine.connection import Connection
from db.queries.conversion import count_verdicts
from lumos_queue.conversion.verdicts import VERDICTS
from lumos_queue.rationales.reasons import REASONS
from lumos_queue.records import MODULES
from lumos_queue.reports.json_values import MERGED


@dataclass(frozen=True, slots=True)
class FilterVerdicts:
    """The rows that a filter rejects or notes."""

    name: str
    meaning: str
    rejects: bool
    rows: Mapping[str, int] = field(metadata=MERGED)  #: by module

    @property
    def most(self) -> int:
        """The rows of the module with more rows."""
        return max(self.rows.values())


def count_filters(connection: Connection, job: str) -> list[FilterVerdicts]:
    """Count the rows by filter and module, the most frequent filter first."""
    rows: dict[str, dict[str, int]] = {}
    rejecting: dict[str, bool] = {}
    for verdict in count_verdicts(connection, job):
        rows.setdefault(verdict.name, dict.fromkeys(MODULES, 0))[verdict.module] = verdict.rows
        rejecting.setdefault(verdict.name, verdict.rejects)
    filters = [FilterVerdicts(name, _explain(name), rejecting[name], by_module) for name, by_module in rows.items()]
    return sorted(filters, key=lambda verdicts: (-verdicts.most, verdicts.name))


def _explain(name: str) -> str:
    return REASONS.get(name) or VERDICTS.get(name, ((), ""))[1]
