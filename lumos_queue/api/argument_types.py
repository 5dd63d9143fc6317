"""Types of arguments that Python functions take in place of texts of the command line."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Model = str | Callable[[str], Any]  #: an address, or a function that gets a prompt and returns the reply
Values = Mapping[str, Any]  #: names to values, in place of options NAME=VALUE
