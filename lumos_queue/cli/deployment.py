"""The deployment that a command works in."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lumos_queue.deployment.deployment import Deployment

_of_command: ContextVar[list[Deployment]] = ContextVar("deployment")  # none or one


@contextmanager
def close_at_end() -> Generator[None, None, None]:
    """Run a command, and close the deployment that it has opened."""
    opened: list[Deployment] = []
    token = _of_command.set(opened)
    try:
        yield
    finally:
        _of_command.reset(token)
        for deployment in opened:
            deployment.close()


def open_deployment() -> Deployment:
    """Return the deployment of the environment's settings, which is closed when the present command ends."""
    from lumos_queue.deployment.deployment import Deployment
    from lumos_queue.settings import read_settings

    opened = _of_command.get()
    if not opened:
        opened.append(Deployment(read_settings()))
    return opened[0]
