"""Train one window in several processes: data-parallel training by `torch.distributed.run`."""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import torch
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from lumos_queue.errors import DivergedFit, InfrastructureError, SpecError
from lumos_queue.training.engine.spec import FitSpec
from lumos_queue.training.engine.steps import is_out_of_memory, train_steps
from lumos_queue.util.full_disk import is_disk_full
from lumos_queue.util.process import die_with_parent

#: Exit codes of a rank and their errors; the message is in a file beside the request.
_CODES = {2: SpecError, 3: DivergedFit, 4: torch.OutOfMemoryError}

#: The signals whose handlers `elastic_launch` replaces.
_REPLACED_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def launch_ranks(ranks: int, spec: FitSpec, folder: Path, previous: Path | None, stop: int, micro_batch: int) -> None:
    """Train in `ranks` processes of this machine, up to the step `stop`.

    Raises the error of the first rank that failed (SpecError, DivergedFit or torch.OutOfMemoryError), and
    InfrastructureError if the rank was killed.
    """
    with tempfile.TemporaryDirectory() as directory:
        request, message = Path(directory) / "request.json", Path(directory) / "message"
        values = {
            "spec": spec.as_json(),
            "folder": str(folder),
            "previous": str(previous) if previous else "",
            "stop": stop,
            "ranks": ranks,
            "micro_batch": micro_batch,
        }
        request.write_text(json.dumps(values))
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=ranks,
            rdzv_backend="c10d",
            rdzv_endpoint="127.0.0.1:0",
            max_restarts=0,  # the item will be retried from its checkpoint
        )
        command = [sys.executable, "-P", "-m", "lumos_queue.training.engine.ranks", str(request), str(message)]
        try:
            with _restore_signal_handlers():
                elastic_launch(config, command[0])(*command[1:])
        except ChildFailedError as error:
            code = error.get_first_failure()[1].exitcode
            reason = message.read_text() if message.exists() else f"a training process ended with exit code {code}"
            raise _CODES.get(code, InfrastructureError)(reason) from None


@contextmanager
def _restore_signal_handlers() -> Iterator[None]:
    """Restore the signal handlers of the main thread at the end, because `torch.distributed` does not restore them."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    handlers = {number: signal.getsignal(number) for number in _REPLACED_SIGNALS}
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


def main() -> None:
    """Run one rank. The arguments are the files of the request and of the message."""
    die_with_parent()
    request, message = map(Path, sys.argv[1:])
    values = json.loads(request.read_text())
    spec, previous = FitSpec.from_json(values["spec"]), values["previous"]
    numbers = (values["stop"], values["ranks"], values["micro_batch"])
    try:
        train_steps(spec, Path(values["folder"]), Path(previous) if previous else None, *numbers)
    except Exception as error:
        if is_disk_full(error):
            error = SpecError(f"The disk of '{values['folder']}' is full: make room there.")
        codes = [code for code, kind in _CODES.items() if isinstance(error, kind)]
        if not codes and not is_out_of_memory(error):
            raise
        message.write_text(str(error))
        os._exit(codes[0] if codes else 4)
    torch.distributed.barrier()  # the first rank may still be writing the checkpoint
    torch.distributed.destroy_process_group()
    os._exit(0)  # gloo's threads abort a process that ends in the usual way


if __name__ == "__main__":
    main()
