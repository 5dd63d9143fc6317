from collections.abc import Sequence
from typing import NoReturn

# A command of click's.
def celery(args: Sequence[str], *, prog_name: str, auto_envvar_prefix: str) -> NoReturn: ...
