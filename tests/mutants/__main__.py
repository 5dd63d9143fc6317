"""`python -m tests.mutants`: change the core in small ways, run its tests, and print what they did not notice."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from tests.mutants.equivalents import find_stale, read_equivalents
from tests.mutants.groups import Group, choose_modules, read_groups
from tests.mutants.mutant import KILLED, Change, sample_names
from tests.mutants.report import Module, write_survivors, write_table
from tests.mutants.tool import describe_mutants, list_mutants, make_tree, name_function, read_mutants, run_mutants


def main(
    modules: Annotated[list[str] | None, typer.Argument(help="Paths of modules; all of groups.toml if none.")] = None,
    sample: Annotated[int, typer.Option(min=0, help="Mutants of a module that is not tested whole; 0: all.")] = 20,
    seed: Annotated[int, typer.Option(help="Which of them.")] = 1,
    jobs: Annotated[int, typer.Option(min=1, help="Processes at a time.")] = 1,
    folder: Annotated[Path, typer.Option(help="Where the mutated copies lie afterwards.")] = Path("build/mutants"),
) -> None:
    """Measure how many small changes to the core its tests notice."""
    try:
        equivalents = read_equivalents()
        groups = choose_modules(read_groups(), modules or [])
    except ValueError as error:
        raise typer.BadParameter(str(error)) from None
    began = time.monotonic()
    tested_modules: list[Module] = []
    changes: set[Change] = set()
    failed_groups: list[str] = []
    for group in groups:
        print(f"{group.name}: {len(group.modules)} modules", flush=True)
        try:
            group_modules, group_changes = measure_group(
                group, folder.resolve() / group.name, sample, seed, jobs, set(equivalents)
            )
        except RuntimeError as error:  # measure the other groups
            print(error)
            failed_groups.append(group.name)
            continue
        tested_modules += group_modules
        changes |= group_changes
        print(write_table(group_modules, equivalents), flush=True)
    print(f"\n{write_survivors(tested_modules, equivalents)}\n\n{write_table(tested_modules, equivalents)}\n")
    killed_changes = (
        mutant.change for module in tested_modules for mutant in module.mutants if mutant.outcome == KILLED
    )
    for change, wrong in find_stale(equivalents, changes, killed_changes):
        print(f"equivalents.toml: {change.module} {change.function}, {change.after!r}: {wrong}")
    print(f"sample {sample}, seed {seed}; {(time.monotonic() - began) / 60:.1f} minutes")
    if failed_groups:
        print(f"Not measured: {', '.join(failed_groups)}")
        raise typer.Exit(1)


def measure_group(
    group: Group, folder: Path, sample: int, seed: int, jobs: int, equivalents: set[Change]
) -> tuple[list[Module], set[Change]]:
    """Test the mutants of a group; return its modules, and the changes to compare with equivalents.toml."""
    make_tree(group, folder)
    names = {module: list_mutants(module, folder) for module in group.modules}
    names = {module: of for module, of in names.items() if of}
    samples = {module: sample_names(of, 0 if group.whole else sample, seed) for module, of in names.items()}
    run_mutants([name for of in samples.values() for name in of], folder, jobs)
    modules = [
        Module(module, len(of), tuple(read_mutants(module, samples[module], folder))) for module, of in names.items()
    ]
    functions = {(change.module, change.function) for change in equivalents}
    changes = {mutant.change for module in modules for mutant in module.mutants}
    for module, of in names.items():  # other mutants are needed only in functions with entries
        changes |= set(describe_mutants(module, [n for n in of if (module, name_function(n)) in functions], folder))
    return modules, changes


if __name__ == "__main__":
    typer.run(main)
