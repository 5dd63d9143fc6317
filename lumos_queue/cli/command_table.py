"""Every command of `lumos`: its heading, its function and an example.

A new command is one line here. Its summary is the first paragraph of its function's docstring.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Command:
    """A command: its function and an example."""

    target: str  #: MODULE:FUNCTION in lumos_queue.cli, imported when the command is called
    example: str  #: the words after `lumos` in the example at the end of its help


@dataclass(frozen=True, slots=True)
class Group:
    """Commands with a common first word: `lumos data get`, `lumos data list`."""

    summary: str
    commands: Mapping[str, Command]
    alone: Command | None = None  #: the command that runs where none of the commands is named
    default: str = ""  #: the command that is called where the first word is no command


DATA = Group(
    "Get benchmark files; import and export other formats.",
    {
        "get": Command("downloads:data_get", "data get gsm8k/test.jsonl"),
        "list": Command("downloads:data_list", "data list"),
        "captions": Command("captions:data_captions", "data captions k3f9a2cd --out captions.json"),
        "openagi": Command("openagi_data:data_openagi", "data openagi --from ~/datasets --out openagi"),
        "import": Command("compat:import_files", "data import plan.jsonl ground.jsonl --licence MIT"),
        "import-toolbench": Command(
            "toolbench:import_toolbench", "data import-toolbench 57_DFS.json --licence Apache-2.0"
        ),
        "export-toolbench": Command("toolbench:export_toolbench", "data export-toolbench k3f9a2cd --out answers"),
    },
)
DATASET = Group(
    "Make training sets from stored episodes.",
    {
        "build": Command("builds:dataset_build", "dataset build first --where 'benchmark=gsm8k level>=perturbed'"),
        "list": Command("builds:dataset_list", "dataset list"),
        "show": Command("builds:dataset_show", "dataset show first"),
        "diff": Command("builds:dataset_diff", "dataset diff first second"),
        "unify": Command("compat:unify", "dataset unify maths.jsonl qa.jsonl --out unified.jsonl"),
        "export-compat": Command("compat:export_compat", "dataset export-compat raw.json --domain maths --out files"),
    },
)
AUDIT = Group(
    "Draw samples for people to label, and report on them.",
    {
        "draw": Command("audits:draw", "audit draw first --where 'origin=converted' --size 50"),
        "next": Command("audits:next_", "audit next first"),
        "label": Command("audits:label", "audit label first 1 right --note 'as in the book'"),
        "report": Command("audits:report", "audit report first"),
        "export": Command("audits:export", "audit export first --format label-studio --out first.json"),
    },
)
TRAIN = Group(
    "Train a planner and a grounder, or experts.",
    {
        "sft": Command("train:train_sft", "train sft --data first --from starter --folder fits/first"),
        "starter": Command("train:train_starter", "train starter --folder fits/starter"),
        "experts": Command("train:train_experts", "train experts --folder experts"),
        "rltf": Command("train:train_rltf", "train rltf openagi --from fits/first/export --folder fits/rltf"),
        "sweep": Command("sweep:train_sweep", "train sweep examples/sweeps/annotations.toml --folder fits/sweep"),
    },
)
MODELS = Group(
    "Get base models; list those that jobs wrote.",
    {
        "list": Command("models:models_list", "models list"),
        "show": Command("models:models_show", "models show k3f9a2cd/joint"),
        "rm": Command("models:models_rm", "models rm k3f9a2cd/joint"),
        "get": Command("model_files:models_get", "models get smollm2"),
    },
)
SERVE = Group(
    "Serve a model, recorded answers of tools, or experts.",
    {
        "model": Command("model_files:serve_model", "serve model fits/first/export --port 8080"),
        "tools": Command("serve:serve_tools", "serve tools --records answers.jsonl --answers nearest"),
        "experts": Command("serve:serve_experts", "serve experts --tool experts=own --port 8090"),
    },
    default="model",
)
ROLLOUTS = Group(
    "",
    {"report": Command("rollouts:rollouts_report", "rollouts report k3f9a2cd --out labels.jsonl")},
    alone=Command("rollouts:rollouts", "rollouts --where 'job=k3f9a2cd' --agent starter"),
)
BLAME = Group(
    "",
    {"report": Command("rollouts:blame_report", "blame report k3f9a2cd m7c2d1ef --pairs pairs.jsonl")},
    alone=Command("rollouts:blame", "blame --where 'job=k3f9a2cd score<1' --agent starter"),
)
DB = Group(
    "Upgrade the database, or copy it.",
    {
        "upgrade": Command("maintenance:db_upgrade", "db upgrade"),
        "backup": Command("maintenance:db_backup", "db backup copy.db"),
    },
)

WEB = Group(
    "Look at jobs, label and build in a browser.",
    {"add-person": Command("web:add_person", "web add-person people.txt ann --role annotator")},
    alone=Command("web:web", "web --port 8642"),
)

#: Maps each heading of `lumos --help` to its commands.
HEADINGS: Mapping[str, Mapping[str, Command | Group]] = {
    "Run": {
        "evaluate": Command("submit:evaluate", "evaluate wordmath --agent starter --limit 20"),
        "infer": Command("submit:infer", "infer gsm8k --planner tgi://gpu-1:8080 --grounder tgi://gpu-1:8081"),
        "rerun": Command("job_repeats:rerun", "rerun k3f9a2cd --where 'score<1' --temperature 0.7"),
        "extend": Command("job_repeats:extend", "extend k3f9a2cd --limit 300"),
        "resume": Command("job_state:resume", "resume k3f9a2cd"),
        "pause": Command("job_state:pause", "pause k3f9a2cd"),
        "cancel": Command("job_state:cancel", "cancel k3f9a2cd"),
        "rm": Command("job_state:rm", "rm k3f9a2cd"),
        "approve": Command("approvals:approve", "approve k3f9a2cd-0 --no --note 'name your sources'"),
        "budget": Command("conversions:budget", "budget k3f9a2cd 20"),
    },
    "Look": {
        "jobs": Command("jobs:jobs", "jobs --where 'benchmark=gsm8k tag.team=maths state=running'"),
        "job": Command("jobs:job", "job k3f9a2cd"),
        "watch": Command("watch:watch", "watch k3f9a2cd"),
        "report": Command("jobs:report", "report k3f9a2cd m7c2d1ef --html report.html"),
        "compare": Command("compare:compare", "compare k3f9a2cd m7c2d1ef"),
        "board": Command("board:board", "board --where 'tag.team=maths'"),
        "episodes": Command("episodes:episodes", "episodes k3f9a2cd --where 'score<1 subgoals<=4'"),
        "show": Command("jobs:show", "show k3f9a2cd-17 --prompts"),
        "papers": Command("papers:papers", "papers 1b/LUMOS-I/gsm8k"),
        "web": WEB,
        "tag": Command("tags:tag", "tag k3f9a2cd team=maths --name 'first try'"),
    },
    "Data": {
        "data": DATA,
        "convert": Command("conversions:convert", "convert gsm8k --deterministic"),
        "dataset": DATASET,
        "label": Command("corrections:label", "label k3f9a2cd-17:2 wrong --note 'divides by the wrong number'"),
        "correct": Command("corrections:correct", "correct k3f9a2cd-17 --subgoal '2: Calculate the total price.'"),
        "rate": Command("corrections:rate", "rate k3f9a2cd-17 8"),
        "audit": AUDIT,
        "score": Command("score:score", "score k3f9a2cd --scorer same_words"),
        "judge": Command("judge:judge", "judge k3f9a2cd --role 'judge=chat://gpu-1:8000?model=judge'"),
    },
    "Train": {
        "train": TRAIN,
        "models": MODELS,
        "serve": SERVE,
        "rollouts": ROLLOUTS,
        "blame": BLAME,
        "reground": Command("rollouts:reground", "reground --where 'job=k3f9a2cd' --grounder tgi://gpu-1:8081"),
    },
    "Operate": {
        "up": Command("operate:up", "up"),
        "worker": Command("operate:worker", "worker --pools cpu,llm"),
        "workers": Command("workers:workers", "workers"),
        "endpoints": Command("workers:endpoints", "endpoints tgi://gpu-1:8080 --cap 64"),
        "plugins": Command("plugins:plugins", "plugins"),
        "doctor": Command("operate:doctor", "doctor --planner tgi://gpu-1:8080"),
        "db": DB,
    },
}
COMMANDS = {name: command for commands in HEADINGS.values() for name, command in commands.items()}

#: Maps former names of commands to their present names.
RENAMED_COMMANDS = {
    "tables": "papers",
    "import": "data import",
    "import-toolbench": "data import-toolbench",
    "export-toolbench": "data export-toolbench",
    "export-compat": "dataset export-compat",
}

#: Maps former options of `lumos jobs` and `lumos episodes` to the term of --where that replaces them.
OPTIONS_NOW_TERMS = {
    "jobs": {
        "--tag": "tag.team=maths",
        "--name": "name~first",
        "--model": "model~smol",
        "--benchmark": "benchmark=gsm8k",
        "--state": "state=running",
    },
    "episodes": {
        "--benchmark": "benchmark=gsm8k",
        "--formulation": "formulation=iterative",
        "--model": "model~smol",
        "--ending": "ending=limit",
        "--wrong": "score<1",
        "--level": "level>=executed",
        "--origin": "origin=converted",
        "--action": "action=SolveEquation",
        "--error": "error=too_large",
        "--verdict": "verdict=accepted",
        "--text": "text~apples",
        "--since": "since=2026-11-21",
    },
}
