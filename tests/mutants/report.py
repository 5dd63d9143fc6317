"""Write the score of each module and of all modules, and the mutants that no test noticed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from lumos_queue.scoring.statistics import Stratum, estimate_share, wilson
from tests.mutants.mutant import ERROR, KILLED, SURVIVED, TIMEOUT, UNTESTED, Change, Mutant

COLUMNS = ("module", "mutants", "tested", "killed", "survived", "no tests", "timeout", "error", "equivalent", "score")


@dataclass(frozen=True, slots=True)
class Module:
    """A module with the number of its mutants, and the sampled ones."""

    path: str
    population: int
    mutants: tuple[Mutant, ...]


def is_missed(mutant: Mutant, equivalents: Collection[Change]) -> bool:
    """Whether a test is missing: no test noticed the mutant, and it is not listed as equivalent."""
    return mutant.outcome in (SURVIVED, UNTESTED) and mutant.change not in equivalents


def count_killed(module: Module, equivalents: Collection[Change]) -> tuple[int, int]:
    """Return the killed and the judged mutants. Equivalents, time-outs and errors are not judged."""
    killed_count = sum(mutant.outcome == KILLED for mutant in module.mutants)
    return killed_count, killed_count + sum(is_missed(mutant, equivalents) for mutant in module.mutants)


def write_table(modules: Sequence[Module], equivalents: Collection[Change]) -> str:
    """Return a Markdown table: a row for each module, and a row for all.

    A module's interval is Wilson's. The score of all weights each module by the number of its mutants
    (`lumos_queue.scoring.statistics.stratified_share`).
    """
    rows = [_write_row(module, equivalents) for module in modules]
    strata = []
    for module in modules:
        killed_count, judged_count = count_killed(module, equivalents)
        strata.append(Stratum(module.population, judged_count, killed_count))
    total = estimate_share(strata)
    all_modules = Module("**all**", sum(m.population for m in modules), tuple(x for m in modules for x in m.mutants))
    rows.append([*_write_row(all_modules, equivalents)[:-1], _write_share(*total) if total else ""])
    lines = [COLUMNS, ["---"] + ["--:"] * (len(COLUMNS) - 1), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def write_survivors(modules: Sequence[Module], equivalents: Collection[Change]) -> str:
    """Return each mutant that no test noticed: its location, and the lines that it changes."""
    parts = []
    for module in modules:
        for mutant in sorted(module.mutants, key=lambda mutant: (mutant.line, mutant.name)):
            if is_missed(mutant, equivalents):
                change = mutant.change
                why = " (no test calls it)" if mutant.outcome == UNTESTED else ""
                lines = [f"- {line}" for line in change.before.splitlines()]
                lines += [f"+ {line}" for line in change.after.splitlines()]
                parts.append("\n".join([f"{change.module}:{mutant.line} {change.function}{why}", *lines]))
    return "\n\n".join(parts)


def _write_row(module: Module, equivalents: Collection[Change]) -> list[str]:
    counts = Counter(
        "equivalent" if mutant.outcome != KILLED and mutant.change in equivalents else mutant.outcome
        for mutant in module.mutants
    )
    killed_count, judged_count = count_killed(module, equivalents)
    score = _write_share(killed_count / judged_count, *wilson(killed_count, judged_count)) if judged_count else ""
    numbers = [module.population, len(module.mutants)]
    numbers += [counts[key] for key in (KILLED, SURVIVED, UNTESTED, TIMEOUT, ERROR, "equivalent")]
    return [module.path, *(f"{number:,}" for number in numbers), score]


def _write_share(share: float, low: float, high: float) -> str:
    return f"{share:.1%} ({low:.1%}-{high:.1%})"
