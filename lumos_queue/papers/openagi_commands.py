"""Write the commands that reproduce a row of OpenAGI's tables."""

from __future__ import annotations

from lumos_queue.benchmarks.openagi.splits import HELDOUT, LABELLED
from lumos_queue.papers.openagi_protocol import BEAMS, BENCHMARK, FORMULATION, SAMPLES, paper_settings
from lumos_queue.papers.openagi_results import RLTF, TUNED, PlannerRow
from lumos_queue.records import Role

_DATA = f"--data FOLDER --published --option samples={SAMPLES}"


def row_commands(row: PlannerRow) -> list[str]:
    """Return the commands in order: those that train the row's planner, if it was trained, and the evaluation."""
    return [*(_training_commands(row) if row.schema in TUNED else []), _evaluation_command(row)]


def describe_need(row: PlannerRow) -> str:
    """Return what the figures of a row need, as text."""
    commands = ", then ".join(row_commands(row))
    planner = f"{row.model} as planner"
    if row.schema in TUNED:
        planner = f"FOLDER of {row.model}, as the paper's weights ({row.schema}) were never released"
    return f"needs {commands} ({planner}; experts and scores with the paper's checkpoints)"


def _training_commands(row: PlannerRow) -> list[str]:
    preset = row.model.lower()
    commands = [
        f"lumos convert {BENCHMARK} --deterministic --split {LABELLED}",
        f"lumos dataset build plans --where 'origin=converted benchmark={BENCHMARK}' --formulations {FORMULATION}",
        f"lumos train sft --data plans --from FOLDER --preset {preset} --formulation {FORMULATION} --folder SFT",
    ]
    if row.schema == RLTF:  # MERGED: in models/merged of LUMOS_HOME, where the first use of an adapter merges it
        commands.append(
            f"lumos train rltf {BENCHMARK} --data FOLDER --split {LABELLED} --option samples={SAMPLES} "
            f"--from MERGED --preset {preset} --reward paper --baseline released --batch 1 --folder RLTF"
        )
    return commands


def _evaluation_command(row: PlannerRow) -> str:
    settings = " ".join(f"--setting {name}={value}" for name, value in paper_settings(row).items())
    search = f" --sampling {Role.PLANNER}.beams={BEAMS}" if row.schema in TUNED else ""
    planner = "run:JOB" if row.schema in TUNED else "URL"
    return (
        f"lumos evaluate {BENCHMARK} {_DATA} --split {HELDOUT} --formulation {FORMULATION} {settings}{search} "
        f"--{Role.PLANNER} {planner}"
    )
