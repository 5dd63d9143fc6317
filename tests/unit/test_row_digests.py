"""The digests of known rows are those that today's readers and generators give."""

from __future__ import annotations

import pytest

from lumos_queue.benchmarks.registry import open_benchmark, open_source
from lumos_queue.downloads.catalogue import GENERATED
from lumos_queue.row_origins.digests import ROW_DIGESTS
from lumos_queue.submission.store import read_rows

GENERATING = ("wordmath", "toolworld", "sum2act_visual", "openagi", "webshop", "open_ended")
LARGE = {("wordmath", "train"), ("toolworld", "train"), ("webshop", "train")}  #: seconds each


@pytest.mark.parametrize("teaching", [False, True])
def test_the_published_file_has_the_known_rows(shared_data, teaching):
    benchmark = open_source("gsm8k") if teaching else open_benchmark("gsm8k")
    rows = read_rows(benchmark, shared_data / "gsm8k" / "train.jsonl", "train", False, teaching=teaching)
    assert ROW_DIGESTS[rows.digest] == ("gsm8k/train.jsonl", "train")


@pytest.mark.parametrize("name", GENERATING)
def test_generated_rows_are_known(name):
    benchmark = open_benchmark(name)
    for split in benchmark.splits:
        if (name, split) not in LARGE:
            assert ROW_DIGESTS.get(read_rows(benchmark, None, split, False).digest) == (GENERATED, split)


@pytest.mark.long
@pytest.mark.parametrize(("name", "split"), sorted(LARGE))
def test_many_generated_rows_are_known(name, split):
    assert ROW_DIGESTS.get(read_rows(open_benchmark(name), None, split, False).digest) == (GENERATED, split)
