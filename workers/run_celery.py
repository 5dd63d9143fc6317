"""Run the `celery` command with this project's app in another folder: it would import modules of the current folder."""

from __future__ import annotations

import os
import sys

from lumos_queue.errors import SpecError
from lumos_queue.settings import read_settings
from lumos_queue.util.launch_folder import child_environment, empty_folder


def main() -> None:
    try:
        settings = read_settings()
        folder = empty_folder(settings.home)
    except SpecError as error:
        sys.exit(f"lumos: {error}")
    os.environ.update(child_environment())
    os.chdir(folder)
    from celery.bin.celery import celery

    if "flower" in sys.argv[1:2]:
        from workers.flower_setup import set_up_flower

        set_up_flower(settings)
    celery(["-A", "workers.app", *sys.argv[1:]], prog_name="celery", auto_envvar_prefix="CELERY")


if __name__ == "__main__":
    main()
