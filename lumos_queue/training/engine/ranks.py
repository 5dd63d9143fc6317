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
from dataclasses import asdict
from pathlib import Path

import torch
from torch.distributed.elastic.multiprocessing.api import SignalException
from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
from torch.distributed.launcher.api import LaunchConfig, elastic_launch

from lumos_queue.errors import DivergedFit, FitInterrupted, InfrastructureError, SpecError
from lumos_queue.records import FitProgress
from lumos_queue.training.engine.progress import Reporter
from lumos_queue.training.engine.spec import FitSpec
from lumos_queue.training.engine.steps import Attempt, is_out_of_memory, train_steps
from lumos_queue.util.process import die_with_parent
from lumos_queue.util.write_failures import describe_write_failure

#: Exit codes of a rank and their errors; the message is in a file beside the request.
INTERRUPTED = 5
_CODES = {2: SpecError, 3: DivergedFit, 4: torch.OutOfMemoryError, INTERRUPTED: FitInterrupted}

#: The signals whose handlers `elastic_launch` replaces.
_REPLACED_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)


def launch_ranks(spec: FitSpec, attempt: Attempt, reporter: Reporter) -> None:
    """Do the steps of an attempt in several processes of this machine.

    Raises the error of the first rank that failed (SpecError, DivergedFit, FitInterrupted or torch.OutOfMemoryError),
    and InfrastructureError if the rank was killed.
    """
    with tempfile.TemporaryDirectory() as directory:
        request, message = Path(directory) / "request.json", Path(directory) / "message"
        channel = str(reporter.folder) if reporter.folder else ""
        values = {"spec": spec.as_json(), "attempt": attempt.as_json(), "channel": channel}
        values |= {"progress": asdict(reporter.progress), "parent": os.getpid()}
        request.write_text(json.dumps(values))
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=attempt.ranks,
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
        except SignalException as error:  # the ranks have got the signal, too
            raise FitInterrupted(f"stopped by signal {error.sigval}") from None


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
    request, message = map(Path, sys.argv[1:])
    values = json.loads(request.read_text())
    die_with_parent(values["parent"])
    spec, attempt = FitSpec.from_json(values["spec"]), Attempt.from_json(values["attempt"])
    is_first = os.environ.get("RANK") == "0"  # only the first rank reports
    channel = Path(values["channel"]) if is_first and values["channel"] else None
    reporter = Reporter(channel, FitProgress(**values["progress"]))
    reporter.stop_at_signals()
    try:
        train_steps(spec, attempt, reporter)
    except FitInterrupted as error:
        torch.distributed.barrier()  # the first rank may still be writing the checkpoint
        message.write_text(str(error))
        os._exit(INTERRUPTED)
    except Exception as error:
        if failure := describe_write_failure(error, attempt.folder):
            error = SpecError(failure)
        codes = [code for code, kind in _CODES.items() if isinstance(error, kind)]
        if not codes and not is_out_of_memory(error):
            raise
        message.write_text(str(error))
        os._exit(codes[0] if codes else 4)
    torch.distributed.barrier()
    torch.distributed.destroy_process_group()
    os._exit(0)  # gloo's threads abort a process that ends in the usual way


if __name__ == "__main__":
    main()
