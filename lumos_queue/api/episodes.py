"""Read stored episodes, one by one or as a table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from db.queries.episode_columns import (
    FIELD,
    METRIC,
    NUMBERS,
    TEXTS,
    WHOLE,
    Columns,
    count_episodes,
    kind_of,
    read_columns,
)
from db.queries.filters import Filter, parse_where
from db.queries.trajectories import StoredEpisode, stream_episodes
from lumos_queue.api.connect import open_deployment
from lumos_queue.errors import SpecError
from lumos_queue.settings import Settings, read_settings
from lumos_queue.util.extras import install_command
from lumos_queue.util.model_loading import import_libraries

if TYPE_CHECKING:
    import datasets
    import pandas
    import pyarrow


def episodes(where: str = "", *, deployment: Settings | None = None) -> Episodes:
    """Return the finished episodes that meet a filter (docs/queries.md); loop over them, or convert them to a table.

    `deployment` replaces the settings of the environment. Raises SpecError for a filter that cannot be read.

    >>> import lumos_queue as lq
    >>> job = lq.evaluate("wordmath", formulation="direct", solver=lambda prompt: "20", limit=20).wait()
    >>> right = lq.episodes("benchmark=wordmath score=1")
    >>> [episode.answer for episode in right]
    ['20', '20']
    >>> table = right.to_pandas()[["question", "answer", "score"]]
    """
    return Episodes(parse_where(where), deployment or read_settings())


class Episodes:
    """The finished episodes that meet a filter. Each use reads the database again.

    A loop yields whole episodes, with task, scores and steps, in the order of their ids and in constant memory. A table
    has a row for each episode, with the columns of `v_episodes` (docs/python_api.md), `metric:NAME` for each metric and
    `meta.NAME` for each field of the data.

    >>> import lumos_queue as lq
    >>> job = lq.evaluate("wordmath", formulation="direct", solver=lambda prompt: "7", limit=5).wait()
    >>> job.episodes("calls=1").to_pandas()["score"].mean()
    np.float64(0.0)
    """

    def __init__(self, condition: Filter, deployment: Settings):
        self._condition, self._deployment = condition, deployment

    def __iter__(self) -> Iterator[StoredEpisode]:
        """Yield the episodes. Raises SpecError for another revision of the database, InfrastructureError without it."""
        with open_deployment(self._deployment) as database:
            yield from stream_episodes(database, self._condition)

    def __repr__(self) -> str:
        return f"<Episodes where {str(self._condition) or 'finished'}>"

    def count(self) -> int:
        """Return the number of episodes."""
        with open_deployment(self._deployment) as database:
            return count_episodes(database, self._condition)

    def to_columns(self) -> Columns:
        """Return the columns by name. A column has a value for each episode, which is None if the episode has none."""
        with open_deployment(self._deployment) as database:
            return read_columns(database, self._condition)

    def to_pandas(self) -> pandas.DataFrame:
        """Return a frame with a row for each episode. Raises SpecError where pandas is not installed."""
        pandas = _library("pandas")
        columns = self.to_columns()
        kinds = {name: _kind(name, values) for name, values in columns.items()}
        series = {name: pandas.Series(values, dtype=kinds[name][0]) for name, values in columns.items()}
        return pandas.DataFrame(series)

    def to_arrow(self) -> pyarrow.Table:
        """Return a table with a row for each episode. Raises SpecError where pyarrow is not installed."""
        arrow = _library("pyarrow")
        columns = self.to_columns()
        schema = arrow.schema([(name, getattr(arrow, _kind(name, values)[1])()) for name, values in columns.items()])
        return arrow.table(columns, schema=schema)

    def to_dataset(self) -> datasets.Dataset:
        """Return a Hugging Face dataset with a row for each episode. Raises SpecError where `datasets` is missing."""
        return _library("datasets").Dataset(self.to_arrow())


#: The types of a field's column in pandas and in Arrow, by the type of its values.
_FIELDS = {
    bool: ("boolean", "bool_"),
    int: ("Int64", "int64"),
    float: ("float64", "float64"),
    str: ("object", "large_string"),
}


def _kind(name: str, values: list[Any]) -> tuple[str, str]:
    """Return the names of a column's type in pandas and in Arrow."""
    if name in WHOLE:
        return "int64", "int64"
    if name in NUMBERS or name.startswith(METRIC):
        return "float64", "float64"
    if name.startswith(FIELD):
        return _FIELDS[kind_of(values)]
    assert name in TEXTS
    return "object", "large_string"


def _library(name: str) -> Any:
    from importlib import import_module

    try:
        with import_libraries(name):
            return import_module(name)
    except ImportError as error:
        raise SpecError(f"This needs {name}, which is not installed: {install_command('frames')}.") from error
