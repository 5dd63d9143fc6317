"""The requests of `lumos train`: a class for each recipe."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from lumos_queue.formulations.defaults import REWARDED, USUAL
from lumos_queue.submission.requests import shared_options as shared
from lumos_queue.submission.requests.entrances import PYTHON_ONLY, SWEPT
from lumos_queue.submission.requests.option import MAX_INTEGER, Option

Folder = Annotated[Path, Option("For checkpoints and the model; all workers need access to it.", required=True)]
Window = Annotated[int, Option("Optimizer steps between checkpoints; 0: the recipe's.", min=0)]
Seed = Annotated[int, Option("Seed of weights, order and dropout.", min=0, max=MAX_INTEGER)]
Lora = Annotated[int, Option("Rank of adapters; 0: the preset's.", min=0, entrances=SWEPT)]
Rate = Annotated[float, Option("Peak learning rate; 0: the preset's.", min=0.0, max=1.0, entrances=SWEPT)]
CheckpointSeconds = Annotated[
    float,
    Option("Seconds between checkpoints within a window; longer if they take over 5 % of the time.", min=0.0),
]
ReportTo = Annotated[
    tuple[str, ...],
    Option("An experiment tracker: tensorboard, wandb, mlflow or trackio; may be repeated."),
]
Device = Annotated[
    str,
    Option(
        "cpu, cuda, or auto: cuda where a live worker (without a broker: this machine) has a GPU.",
        entrances=SWEPT,
    ),
]


@dataclass(frozen=True, slots=True)
class SftRequest:
    """The request of `lumos train sft`."""

    folder: Folder = Path()
    data: Annotated[
        tuple[str, ...],
        Option(
            "A build (its name or folder) or a JSON lines file. May be repeated; a repeated build counts twice.",
            required=True,
        ),
    ] = ()
    start: Annotated[
        str, Option("The model folder to start from, starter, or scratch.", flag="--from", entrances=SWEPT)
    ] = "starter"
    preset: Annotated[
        str,
        Option(
            "paper (all weights, as LUMOS), lora (adapters), scratch (a small model), planner (a smaller one, of "
            "plans of experts), tools (another, of tool agents), flan-t5-large, vicuna-7b or llama-2-13b (as "
            "OpenAGI). Default: scratch from scratch or starter, else paper.",
            entrances=SWEPT,
        ),
    ] = ""
    formulation: Annotated[str, Option("The formulation of a build to train on.")] = USUAL
    module: Annotated[str, Option("Train on the conversations of the planner, the grounder, or joint: both.")] = "joint"
    epochs: Annotated[float, Option("Passes over the data; 0: the preset's.", min=0.0, entrances=SWEPT)] = 0.0
    steps: Annotated[int, Option("Optimizer steps; 0: by the epochs.", min=0, entrances=SWEPT)] = 0
    batch: Annotated[int, Option("Conversations per optimizer step; 0: the preset's.", min=0, entrances=SWEPT)] = 0
    max_length: Annotated[
        int,
        Option("Maximum tokens of a conversation; the rest is cut off. 0: the preset's.", min=0, entrances=SWEPT),
    ] = 0
    rate: Rate = 0.0
    lora: Lora = 0
    precision: Annotated[
        str,
        Option("Precision of matrix products: bf16 or fp32.", shown_default="the faster on a CPU, else the preset's"),
    ] = ""
    gradient_checkpointing: Annotated[bool, Option("Less memory, a third more time.")] = False
    device: Device = "auto"
    window: Window = 0
    eval_every: Annotated[
        int, Option("Optimizer steps between development losses; 0: those of a window.", min=0, entrances=SWEPT)
    ] = 0
    patience: Annotated[
        int,
        Option("End the fit after so many windows without a lower development loss; 0: never.", min=0, entrances=SWEPT),
    ] = 0
    keep: Annotated[
        str,
        Option(
            "The weights to export: best (lowest development loss) or last.",
            shown_default="best if there are development conversations, else last",
            entrances=SWEPT,
        ),
    ] = ""
    checkpoint_seconds: CheckpointSeconds = 60.0
    report_to: ReportTo = ()
    seed: Seed = 0
    optimizer: Annotated[str, Option("adamw or muon; default: the preset's.", entrances=PYTHON_ONLY)] = ""
    other_rate: Annotated[
        float | None, Option("With muon: the rate of embeddings and norms.", min=0.0, max=1.0, entrances=PYTHON_ONLY)
    ] = None
    weight_decay: Annotated[float | None, Option("Weight decay.", min=0.0, entrances=PYTHON_ONLY)] = None
    warm_up: Annotated[
        float | None, Option("Share of the steps in which the rate rises.", min=0.0, max=1.0, entrances=PYTHON_ONLY)
    ] = None
    decay: Annotated[
        float | None, Option("Share of the steps in which the rate falls.", min=0.0, max=1.0, entrances=PYTHON_ONLY)
    ] = None
    dropout: Annotated[float | None, Option("Dropout.", min=0.0, max=1.0, entrances=PYTHON_ONLY)] = None
    prompt_weight: Annotated[float | None, Option("Weight of the loss on prompts.", min=0.0, entrances=PYTHON_ONLY)] = (
        None
    )
    micro_batch: Annotated[int | None, Option("Conversations of one forward pass.", min=1, entrances=PYTHON_ONLY)] = (
        None
    )
    threads: Annotated[int | None, Option("Threads of each rank on a CPU.", min=1, entrances=PYTHON_ONLY)] = None


@dataclass(frozen=True, slots=True)
class StarterRequest:
    """The request of `lumos train starter`."""

    folder: Folder = Path()
    data: Annotated[
        Path | None,
        Option(
            "Folder with the original files of gsm8k, mawps, asdiv and svamp. Default: where `lumos data get` puts "
            "them."
        ),
    ] = None
    start: Annotated[Path | None, Option("Model folder of the adapter's base.", flag="--from")] = None
    only: Annotated[tuple[str, ...], Option("adapter, iterative or one-pass; repeatable. Default: all.")] = ()
    adapter_steps: Annotated[int, Option("Optimizer steps of the adapter.", min=1)] = 800
    steps: Annotated[int, Option("Optimizer steps of the small model for iterative.", min=1)] = 6500
    one_pass_steps: Annotated[int, Option("Optimizer steps of the small model for one-pass.", min=1)] = 1500
    generated: Annotated[int, Option("wordmath problems to choose from.", min=1)] = 40_000
    window: Window = 0
    checkpoint_seconds: CheckpointSeconds = 60.0
    report_to: ReportTo = ()
    seed: Seed = 7


@dataclass(frozen=True, slots=True)
class ExpertsRequest:
    """The request of `lumos train experts`."""

    folder: Folder = Path()
    only: Annotated[tuple[str, ...], Option("An expert, such as image-denoising; may be repeated. Default: all.")] = ()
    profile: Annotated[str, Option("How strongly pictures are changed: released, strong or both.")] = "both"
    steps: Annotated[int, Option("Optimizer steps; 0: 200 to 1500.", min=0)] = 0
    checkpoint_seconds: CheckpointSeconds = 60.0
    report_to: ReportTo = ()
    seed: Seed = 0


@dataclass(frozen=True, slots=True)
class RltfRequest:
    """The request of `lumos train rltf`: the fit, and the evaluation that makes its rollouts."""

    benchmark: shared.Benchmark = ""
    folder: Folder = Path()
    start: Annotated[
        Path, Option("The model folder to start from, such as what sft wrote.", flag="--from", required=True)
    ] = Path()
    split: Annotated[str, Option("The split of the tasks.")] = "train"
    formulation: Annotated[str, Option("How tasks are attempted; its first role learns.")] = REWARDED
    preset: Annotated[
        str, Option("planner (a small model), or as the paper: flan-t5-large, vicuna-7b, llama-2-13b.")
    ] = "planner"
    reward: Annotated[
        str, Option("The score that is the reward: a metric, or an overall score. Default: the benchmark's.")
    ] = ""
    epochs: Annotated[int, Option("Passes over the tasks; 0: the preset's.", min=0)] = 0
    batch: Annotated[int, Option("Tasks per optimizer step; 0: the preset's.", min=0)] = 0
    samples: Annotated[int, Option("Rollouts of each task.", min=1, max=1000)] = 1
    rate: Rate = 0.0
    beams: Annotated[int, Option("Plans to choose from; 0: the preset's.", min=0, max=1000)] = 0
    epsilon: Annotated[
        float | None,
        Option("Probability of another than the best plan, at the first step. Default: 0.2.", min=0.0, max=1.0),
    ] = None
    epsilon_decay: Annotated[float, Option("The factor of epsilon at each step.", min=0.0, max=1.0)] = 0.9
    temperature: Annotated[
        float | None, Option("Sample rollouts with this temperature instead of choosing among beams.", min=0.0)
    ] = None
    momentum: Annotated[float, Option("Momentum of the baseline, a moving average.", min=0.0, max=1.0)] = 0.9
    baseline: Annotated[
        str,
        Option(
            "What is subtracted from rewards: moving (average of earlier rewards), or none; released: the update "
            "of the paper's code, with --batch 1."
        ),
    ] = ""
    no_baseline: Annotated[bool, Option("The same as --baseline none.")] = False
    shuffle_rewards: Annotated[bool, Option("Shuffle rewards within a step: a control that must not learn.")] = False
    infeasible: Annotated[float, Option("Reward of a plan that cannot run.")] = -1.0
    lora: Lora = 0
    data: shared.Data = None
    limit: shared.Limit = 0
    options: shared.RowOptions = ()
    grounder: shared.Grounder = ""
    solver: shared.Solver = ""
    roles: shared.Roles = ()
    tools: shared.ToolOptions = ()
    settings: shared.SettingOptions = ()
    max_tokens: shared.MaxTokens = 512
    max_subgoals: shared.MaxSubgoals = 0
    skip_bad_rows: shared.SkipBad = False
    device: Device = "cpu"
    report_to: ReportTo = ()
    seed: Seed = 0
