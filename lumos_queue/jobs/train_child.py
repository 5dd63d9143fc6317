"""One item of a training job, in a separate process: reads the request on standard input, writes one line of JSON."""

from __future__ import annotations

import json
import sys

from lumos_queue.errors import SpecError
from lumos_queue.jobs.train import Train
from lumos_queue.training.recipes.registry import run_item
from lumos_queue.util.process import die_with_parent


def main() -> int:
    die_with_parent()
    request = json.load(sys.stdin)
    try:
        print(json.dumps(run_item(Train.from_json(request["train"]).recipe, request["window"])))
    except SpecError as error:
        print(error, file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
