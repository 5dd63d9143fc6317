"""Raise the limit of open files at the start to what the work needs, or report that it is too low."""

from __future__ import annotations

import resource

from lumos_queue.settings import Settings

PER_EPISODE = 3  #: open connections of an episode in flight: to planner, grounder and one more model or service
FIXED = 100  #: database connections (three files each on SQLite), helper processes' pipes, broker, event loop, logs


def files_needed(concurrency: int) -> int:
    """Return how many open files and connections a process that runs `concurrency` episodes at once may need."""
    return PER_EPISODE * concurrency + FIXED


def allow_open_files(settings: Settings) -> str:
    """Raise the limit of open files of this process, and of its later children, to the number that it may need.

    Return one line for a person if the system allows fewer files, otherwise ''.
    """
    min_limit = files_needed(settings.concurrency)
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if _covers(soft, min_limit):
        return ""
    new_limit = min_limit if _covers(hard, min_limit) else hard
    if soft < new_limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (new_limit, hard))
    if new_limit == min_limit:
        return ""
    max_concurrency = (new_limit - FIXED) // PER_EPISODE
    lower = f"set LUMOS_CONCURRENCY to {max_concurrency}" if max_concurrency > 0 else "lower LUMOS_CONCURRENCY"
    return (
        f"open files are limited to {new_limit}, and LUMOS_CONCURRENCY={settings.concurrency} may need {min_limit}: "
        f"run ulimit -n {min_limit} first (an administrator has to allow it: the hard limit is {hard}), or {lower}"
    )


def _covers(limit: int, files: int) -> bool:
    return limit == resource.RLIM_INFINITY or limit >= files
