"""The templates of problems, by theme. An import of this package registers all of them."""

from lumos_queue.benchmarks.wordmath.families import (  # noqa: F401
    chains,
    change,
    combine,
    compare,
    for_dev,
    for_test,
    groups,
    history,
    long,
    measure,
    mixed,
    money,
    parts,
    unknowns,
)
