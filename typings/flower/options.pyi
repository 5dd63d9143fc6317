from types import FunctionType

class _Options:
    format_task: FunctionType | None
    tasks_columns: str

options: _Options
