"""What differs by formulation is a field of the formulation: no other module compares names."""

import ast
from collections import Counter
from pathlib import Path

from tests.formulation_names import find_names
from tests.structure.source import Module, read_modules

ROOT = Path(__file__).parents[2]
#: Words that mean something other than a formulation in a module, and how often: (path, word) to a number.
OTHER_MEANINGS = {
    # the input of a task, the field of a row, or the view of a vision tool
    ("lumos_queue/actions/vision/interface.py", "caption"): 5,
    ("lumos_queue/benchmarks/aokvqa/benchmark.py", "caption"): 1,
    ("lumos_queue/benchmarks/from_file/row_tasks.py", "caption"): 1,
    ("lumos_queue/benchmarks/openagi/baselines.py", "caption"): 1,
    ("lumos_queue/benchmarks/openagi/builder/picture_sets.py", "caption"): 1,
    ("lumos_queue/benchmarks/scienceqa/benchmark.py", "caption"): 2,
    ("lumos_queue/jobs/convert.py", "caption"): 2,
    ("lumos_queue/readers/pictures.py", "caption"): 1,
    ("lumos_queue/submission/teacher_vision.py", "caption"): 1,
    # benchmarks
    ("lumos_queue/benchmarks/registry.py", "rewoo"): 1,
    ("lumos_queue/benchmarks/registry.py", "tooleval"): 1,
    ("lumos_queue/benchmarks/rewoo/benchmark.py", "rewoo"): 1,
    ("lumos_queue/benchmarks/tooleval/benchmark.py", "tooleval"): 1,
    # a rule of scores, and a format of exported answers
    ("lumos_queue/scoring/tooleval.py", "tooleval"): 1,
    ("lumos_queue/searches/answer_export.py", "tooleval"): 1,
    # fits of the recipe, as jobs store them
    ("lumos_queue/training/recipes/starter.py", "iterative"): 1,
    ("lumos_queue/training/recipes/starter.py", "one-pass"): 1,
    # formulations of the original's files
    ("lumos_queue/compat/file_import.py", "iterative"): 2,
    ("lumos_queue/compat/folder_export.py", "iterative"): 1,
    ("lumos_queue/compat/reading.py", "iterative"): 2,
    ("lumos_queue/compat/training_files.py", "iterative"): 1,
}


def test_no_module_outside_formulations_and_papers_names_a_formulation():
    uses = [
        (module.path, name, line)
        for module in read_modules(ROOT, ["lumos_queue", "workers", "db"])
        for line, name in find_names(module)
    ]
    counts = Counter((path, name) for path, name, _ in uses)
    differences = [
        f"{path}:{line} names '{name}'"
        for path, name, line in sorted(uses)
        if counts[path, name] != OTHER_MEANINGS.get((path, name), 0)
    ]
    assert not differences, "\n".join(differences)
    assert counts == OTHER_MEANINGS, "an exception is no longer needed"


def test_comparisons_keys_imports_and_arguments_are_names():
    text = (
        "from lumos_queue.formulations.sum2act import REWRITE\nfrom lumos_queue.formulations import dfsdt\n"
        "import lumos_queue.formulations.rewoo\nif job.formulation == 'react': pass\n"
        "sizes = {'cot': 1}\nmake('direct')\n"
    )
    module = Module("example", "lumos_queue/example.py", text, ast.parse(text))
    assert sorted(line for line, _ in find_names(module)) == [1, 2, 3, 4, 5, 6]
