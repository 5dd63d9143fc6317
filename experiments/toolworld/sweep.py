"""Models trained for each formulation, on ToolWorld: rollouts, rows, fits and evaluations, as a sweep file names them.

python -m experiments.toolworld.sweep list FILE                              what it would do
python -m experiments.toolworld.sweep run FILE --folder FOLDER [--only react]    all of it; continues where it stopped
python -m experiments.toolworld.sweep show FILE --folder FOLDER              the tables of what is done

Rollouts, fits and evaluations are jobs of the commands that a person would type, in a database of the folder's own: one
that was killed continues where it stopped.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from experiments.toolworld.plan import Evaluation, Fit, Play, Rollouts, ToolWorldSweep, as_texts, read_sweep
from experiments.toolworld.results import print_results
from lumos_queue.errors import SpecError, unknown
from lumos_queue.formulations.registry import FORMULATIONS

app = typer.Typer(rich_markup_mode=None)
ROLLOUT_POLICY = "function:experiments.toolworld.policies:very_noisy"
JOBS = "jobs.json"  #: in the folder: what ran to its end, with its job
LUMOS = (sys.executable, "-m", "lumos_queue.cli.main")
ROWS = (sys.executable, "-m", "experiments.toolworld.rows")
Run = Callable[[list[str], Mapping[str, str]], str]  #: a command with further variables; gives its standard output
SweepFile = Annotated[Path, typer.Argument(metavar="FILE", help="The sweep as TOML: experiments/toolworld/sweep.toml.")]
Folder = Annotated[Path, typer.Option(help="For the database, the rows and the models.")]


def run_command(command: list[str], variables: Mapping[str, str]) -> str:
    """Run a command and return its output. Raises SystemExit, with the output, if it fails."""
    process = subprocess.run(command, env=os.environ | variables, stdout=subprocess.PIPE, text=True, check=False)
    if process.returncode:
        raise SystemExit(f"{' '.join(command[2:])}: exit code {process.returncode}\n{process.stdout[-2000:]}")
    return process.stdout


class SweepRun:
    """The work of a sweep in its folder. What is done already, by the same command, is not done again."""

    def __init__(self, plan: ToolWorldSweep, folder: Path, run: Run = run_command, device: str = "cpu"):
        self._plan, self._folder, self._run, self._device = plan, folder.resolve(), run, device
        self._folder.mkdir(parents=True, exist_ok=True)
        self._variables = {"LUMOS_HOME": str(self._folder / "home")}

    def carry_out(self, only: str = "") -> None:
        """Everything of the models, or of one of them."""
        for name in self._plan.models:
            if only in ("", name):
                rollouts = [self._roll_out(rollout) for rollout in self._plan.rollouts() if rollout.model == name]
                self._write_rows(name, rollouts)
        for fit in self._plan.fits():
            if only in ("", fit.model):
                job = self._train(fit)
                for evaluation in self._plan.evaluations():
                    if evaluation.fit == fit:
                        self._evaluate(evaluation, job)

    def _roll_out(self, rollouts: Rollouts) -> str:
        settings = " ".join(f"{name}={value}" for name, value in as_texts(rollouts.play.settings).items())
        label = f"rollouts, {rollouts.model}, {rollouts.cell}, {rollouts.play.formulation} {settings}".strip()
        limit = ("--split", "train", "--limit", str(self._plan.rollout_tasks))
        options = self._options(self._plan.rollout_options(rollouts.cell), rollouts.play, ROLLOUT_POLICY)
        return self._job(label, ["infer", "toolworld", *limit, *options])

    def _write_rows(self, name: str, jobs: list[str]) -> None:
        self._run([*ROWS, *jobs, "--out", str(self._rows(name)), "--name", name], self._variables)

    def _train(self, fit: Fit) -> str:
        options = self._plan.fit
        return self._job(
            fit.name,
            [
                "train",
                "sft",
                "--data",
                str(self._rows(fit.model)),
                "--formulation",
                fit.model,
                "--from",
                "scratch",
                "--preset",
                options.preset,
                "--steps",
                str(options.steps),
                "--batch",
                str(options.batch),
                "--max-length",
                str(options.max_length),
                "--seed",
                str(fit.seed),
                "--device",
                self._device,
                "--folder",
                str(self._folder / "fits" / fit.name),
                *(("--precision", options.precision) if options.precision else ()),
            ],
        )

    def _evaluate(self, evaluation: Evaluation, training_job: str) -> None:
        limit = ("--split", self._plan.split, "--limit", str(self._plan.tasks))
        options = self._options(self._plan.options(evaluation.cell), evaluation.play, f"run:{training_job}")
        self._job(evaluation.label, ["evaluate", "toolworld", *limit, *options])

    def _options(self, dials: Mapping[str, str], play: Play, endpoint: str) -> list[str]:
        """What rollouts and evaluations have in common."""
        roles = FORMULATIONS.load(play.formulation).roles
        pairs = [("--role", f"{role}={endpoint}") for role in roles]
        pairs += [("--sampling", f"{role}.max_tokens={self._plan.max_tokens}") for role in roles]
        pairs += [("--option", f"{name}={value}") for name, value in dials.items()]
        settings = as_texts({**self._plan.settings, **play.settings})
        pairs += [("--setting", f"{name}={value}") for name, value in settings.items()]
        pairs += [("--tool", f"observation={self._plan.observation}")]
        return ["--formulation", play.formulation, *(text for pair in pairs for text in pair)]

    def _job(self, label: str, arguments: list[str]) -> str:
        """The id of the job of that command, which is done."""
        jobs = read_jobs(self._folder)
        if label in jobs and jobs[label]["arguments"] == arguments:
            return jobs[label]["job"]
        typer.echo(label, err=True)
        job = json.loads(self._run([*LUMOS, *arguments, "--json"], self._variables).splitlines()[-1])["job"]
        jobs = read_jobs(self._folder)  # another process may have done another model's part meanwhile
        jobs[label] = {"job": job, "arguments": arguments}
        part = self._folder / f"{JOBS}.{os.getpid()}.part"
        part.write_text(json.dumps(jobs, indent=1), encoding="utf-8")
        os.replace(part, self._folder / JOBS)
        return job

    def _rows(self, name: str) -> Path:
        return self._folder / "rows" / name


def read_jobs(folder: Path) -> dict[str, Any]:
    """Label to job and arguments of what is done. Raises SpecError for a file that was changed."""
    path = folder / JOBS
    try:
        jobs = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}
        return {label: {"job": record["job"], "arguments": record["arguments"]} for label, record in jobs.items()}
    except (ValueError, AttributeError, TypeError, KeyError):
        raise SpecError(f"'{path}' is not what the sweep wrote. Remove it: jobs are found again.") from None


@contextmanager
def print_problems() -> Iterator[None]:
    """Print a SpecError in one line and exit with code 2."""
    try:
        yield
    except SpecError as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from None


@app.command("list")
@print_problems()
def list_work(file: SweepFile) -> None:
    """Say what the sweep would do."""
    plan = read_sweep(file)
    typer.echo(plan.title)
    rollouts, evaluations = list(plan.rollouts()), list(plan.evaluations())
    typer.echo(f"{len(rollouts)} jobs of rollouts, of {plan.rollout_tasks:,} tasks each")
    for fit in plan.fits():
        cell_count = sum(evaluation.fit == fit for evaluation in evaluations)
        typer.echo(f"fit {fit.name}: at most {plan.token_budget:,} tokens; plays {cell_count} cells")
    typer.echo(f"{len(evaluations)} evaluations, of {plan.tasks:,} tasks of '{plan.split}' each")


@app.command()
@print_problems()
def run(
    file: SweepFile,
    folder: Folder,
    only: Annotated[str, typer.Option(help="The rollouts, fits and evaluations of this model alone.")] = "",
    device: Annotated[str, typer.Option(help="As of lumos train sft.")] = "cpu",
) -> None:
    """Do all of it. The same command resumes where the last one ended."""
    plan = read_sweep(file)
    if only and only not in plan.models:
        raise unknown("model", only, plan.models)
    SweepRun(plan, folder, device=device).carry_out(only)


@app.command()
@print_problems()
def show(
    file: SweepFile,
    folder: Folder,
    picture: Annotated[Path | None, typer.Option(help="Also draw the scores: a file for SVG.")] = None,
) -> None:
    """Print the tables of what is done."""
    plan = read_sweep(file)
    jobs = {label: record["job"] for label, record in read_jobs(folder).items()}
    print_results(plan, jobs, folder.resolve(), picture)


if __name__ == "__main__":
    app()
