"""Run one item of a training job in a separate process: read the request on standard input, write one line of JSON."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from lumos_queue.errors import DivergedFit, FitInterrupted, SpecError
from lumos_queue.jobs.train import DIVERGED, INTERRUPTED, REFUSED, Train
from lumos_queue.training.engine.progress import Reporter
from lumos_queue.training.recipes.registry import run_item
from lumos_queue.util.launch_folder import from_launch
from lumos_queue.util.plugins import TRUSTED
from lumos_queue.util.process import die_with_parent
from lumos_queue.util.write_failures import describe_write_failure


def main() -> int:
    request = json.load(sys.stdin)
    die_with_parent(request.get("parent"))
    return carry_out(request)


def carry_out(request: dict[str, Any]) -> int:
    """Run the item and write its result to standard output. Return the exit code for this process."""
    TRUSTED.add_listed(request.get("plugins", ""))  # the trusted plug-ins of the caller, which may contain the recipe
    recipe = Train.from_json(request["train"]).recipe
    reporter = Reporter(Path(request["channel"]) if "channel" in request else None)
    reporter.stop_at_signals()
    try:
        window_result = run_item(recipe, request["window"], reporter)
        print(
            "\n" + json.dumps(window_result.as_json()), flush=True
        )  # on a separate line, whatever a library has printed
    except SpecError as error:
        return _explain(error, REFUSED)
    except DivergedFit as error:
        return _explain(error, DIVERGED)
    except FitInterrupted as error:
        return _explain(error, INTERRUPTED)
    except Exception as error:
        if not (failure := describe_write_failure(error, from_launch(recipe.folder))):
            raise
        return _explain(SpecError(failure), REFUSED)
    return 0


def _explain(error: Exception, code: int) -> int:
    """Write the error's message as the last line of standard error. Return `code`."""
    print("\n" + " ".join(str(error).split()), file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
