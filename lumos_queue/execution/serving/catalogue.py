"""The APIs of a virtual API server: APIs with documents, and APIs that only occur in records."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from lumos_queue.actions.tools.function_names import category_name, safe_name, standardize
from lumos_queue.actions.tools.functions import Function, functions_of
from lumos_queue.actions.tools.records import Records
from lumos_queue.benchmarks.toolbench.rows import read_listed_apis

Names = tuple[str, str, str]  #: category, tool and API


class Catalogue:
    """Finds the function that a request's category, tool and API name."""

    def __init__(self, functions: Iterable[Function], record_names: Iterable[Names]):
        self._documented_functions = frozenset(functions := tuple(functions))
        self._by_names = {(function.category, function.tool, function.api): function for function in functions}
        self._plain: dict[Names, Function] = {}
        for function in functions:
            self._plain.setdefault(_plain_names((function.category, function.tool, function.api)), function)
        known_names = set(self._plain)
        # Plain spellings last: the records of a function in another spelling include those in plain spelling.
        for names in sorted(record_names, key=lambda names: names == _plain_names(names)):
            if _plain_names(names) not in known_names:
                function = Function("", *names)
                if self._plain.setdefault(_plain_names(names), function) is function or names != _plain_names(names):
                    self._by_names[names] = function

    def __len__(self) -> int:
        return len(self._plain)

    def find(self, names: Names) -> Function | None:
        """Return the function of an API, or None. `names` are spelt as in the document or in ToolBench's form.

        The API's name may also be the function's name, `latest_for_suivi_colis`, as for ToolBench's server.
        """
        function = self._by_names.get(names)
        category, tool, api = _plain_names(names)
        shorter = (category, tool, api.partition(f"_for_{tool}")[0])
        return self._plain.get((category, tool, api), self._plain.get(shorter)) if function is None else function

    def is_documented(self, function: Function) -> bool:
        """Whether the function has a document, which describes its arguments."""
        return function in self._documented_functions


def read_catalogue(documents: Path | None, records: Records) -> Catalogue:
    """Return the APIs of ToolBench's query files (benchmarks/toolbench/rows.py) and of records. Raises SpecError."""
    return Catalogue(functions_of(read_listed_apis(documents)) if documents else (), records.apis())


def _plain_names(names: Names) -> Names:
    category, tool, api = names
    return category_name(category), standardize(tool), safe_name(api)
