"""Describe errors of the operating system as text for people."""

from __future__ import annotations

import os
import re

_NUMBER = re.compile(r"\[Errno -?\d+\] ")


def describe_os_error(error: Exception) -> str:
    """Return the text of an error without its number: `No such file or directory: 'PATH'`.

    TLS errors keep their own text, because their numbers are not the system's.
    """
    number = getattr(error, "errno", None)
    if type(error).__module__ == "ssl" or not number or number < 0:
        return _NUMBER.sub("", str(error))
    file = getattr(error, "filename", None)
    return os.strerror(number) + (f": '{file}'" if file else "")
