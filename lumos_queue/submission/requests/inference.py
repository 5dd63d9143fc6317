"""The request of an evaluation or an inference. Each field declares an option of every entrance that it names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from lumos_queue.submission.requests.entrances import COMMAND_ONLY, SWEPT
from lumos_queue.submission.requests.option import EVERYWHERE, MAX_INTEGER, Entrance, Option

CHANGED = EVERYWHERE | {Entrance.RERUN}
EXTENDED = CHANGED | {Entrance.EXTEND}
SWEPT_AND_CHANGED = CHANGED | {Entrance.SWEEP}


def _own_field(description: str) -> str:
    return f"Own file: the field {description}"


@dataclass(frozen=True, slots=True)
class InferenceRequest:
    """The options of `lumos evaluate` and `lumos infer`, as their caller gives them: unchecked."""

    benchmark: Annotated[
        str,
        Option(
            "wordmath, gsm8k, strategyqa, … (docs/benchmarks.md has all); or your own file, or a TOML file that "
            "describes it (docs/own_data.md).",
            metavar="BENCHMARK|FILE",
            positional=True,
            required=True,
        ),
    ] = ""
    data: Annotated[
        Path | None,
        Option("The benchmark's original file or folder. Default: what `lumos data get` fetched.", entrances=SWEPT),
    ] = None
    split: Annotated[
        str,
        Option(
            "The split of the rows: train, dev, test, or another split of the benchmark. Default: test; of your own "
            "file 'own'.",
            entrances=SWEPT,
        ),
    ] = ""
    formulation: Annotated[
        str,
        Option(
            "iterative (LUMOS-I), one-pass (LUMOS-O), cot, direct, integrated, teacher-forced or caption; of tool "
            "agents react, dfsdt, rewoo or sum2act; model-synthesis (openagi); open-ended. Default: cot with --solver "
            "alone, else iterative.",
            entrances=CHANGED,
            change_help="Another formulation.",
        ),
    ] = ""
    agent: Annotated[
        str,
        Option("A built-in agent: starter, or starter-scratch (its models from scratch).", entrances=CHANGED),
    ] = ""
    planner: Annotated[
        str,
        Option(
            "Its endpoint: tgi://HOST:PORT, openai://HOST:PORT?model=NAME, chat://HOST:PORT?model=NAME (instruct "
            "models, with --shots), local:DIR, run:JOB (the models of a training job, also for the grounder), "
            "function:package.module:NAME or scripted:FILE (docs/endpoints.md).",
            entrances=CHANGED,
        ),
    ] = ""
    grounder: Annotated[str, Option("Its endpoint, as for --planner.", entrances=CHANGED)] = ""
    solver: Annotated[
        str,
        Option("Endpoint of the single model of cot, direct and integrated, as for --planner.", entrances=CHANGED),
    ] = ""
    limit: Annotated[
        int,
        Option(
            "Use only the first so many rows; 0: all.",
            min=0,
            max=MAX_INTEGER,
            entrances=EXTENDED | SWEPT,
            change_help="The first so many rows; 0: all. Default: as in JOB.",
        ),
    ] = 0
    samples: Annotated[
        int,
        Option(
            "Episodes per task.",
            min=1,
            max=1000,
            entrances=EXTENDED,
            change_help="Episodes per task. Default: as in JOB.",
        ),
    ] = 1
    seed: Annotated[
        int,
        Option(
            "Seed of all sampling.",
            min=0,
            max=MAX_INTEGER,
            entrances=CHANGED,
            change_help="Another seed of all sampling.",
        ),
    ] = 0
    temperature: Annotated[
        float | None,
        Option(
            "Sampling temperature; 0: greedy. Default: the formulation's for a role, else 0.",
            min=0.0,
            entrances=CHANGED,
            change_help="Another sampling temperature; 0: greedy.",
        ),
    ] = None
    top_p: Annotated[
        float | None,
        Option(
            "Nucleus sampling; 1: off. Default: the formulation's, else 1.",
            min=0.0,
            max=1.0,
            entrances=CHANGED,
            change_help="Another nucleus; 1: off.",
        ),
    ] = None
    max_tokens: Annotated[
        int | None,
        Option(
            "Maximum number of tokens of one reply. Default: the formulation's for a role, else 512.",
            min=1,
            max=MAX_INTEGER,
            entrances=SWEPT_AND_CHANGED,
            change_help="Another limit of a reply's tokens.",
        ),
    ] = None
    max_subgoals: Annotated[
        int,
        Option(
            "Limit of subgoals of an iterative episode; 0: the domain's default, 8 (web 20, shop 6).", min=0, max=1000
        ),
    ] = 0
    framing: Annotated[str, Option("Layout of the turns: train, or eval as in the original's evaluation.")] = "train"
    skip_bad_rows: Annotated[bool, Option("Skip rows that cannot be read, and report them.")] = False
    published: Annotated[bool, Option("State that the rows are the published ones, where their file is not known.")] = (
        False
    )
    question: Annotated[
        str,
        Option(
            _own_field("with the question. Default: the one called question, prompt, input or query."),
            metavar="FIELD",
            entrances=COMMAND_ONLY,
        ),
    ] = ""
    answer: Annotated[
        tuple[str, ...],
        Option(
            _own_field(
                "with the right answer, or a list of several. May be repeated. Default: the one called answer, "
                "target, output or label."
            ),
            metavar="FIELD",
            entrances=COMMAND_ONLY,
        ),
    ] = ()
    id: Annotated[
        str, Option(_own_field("with a row's id. Default: row numbers."), metavar="FIELD", entrances=COMMAND_ONLY)
    ] = ""
    choices: Annotated[
        str,
        Option(
            _own_field("with the choices, or several fields with commas. Default: the one called choices or options."),
            metavar="FIELD",
            entrances=COMMAND_ONLY,
        ),
    ] = ""
    images: Annotated[
        str,
        Option(
            _own_field("with the path of an image, below the file's folder."), metavar="FIELD", entrances=COMMAND_ONLY
        ),
    ] = ""
    rationale: Annotated[
        str,
        Option(
            _own_field(
                "with the rationale of the answer. Default: the one called rationale; of lumos convert also solution "
                "or explanation."
            ),
            metavar="FIELD",
            entrances=COMMAND_ONLY,
        ),
    ] = ""
    scorer: Annotated[
        str,
        Option(
            "Own file: how answers are judged: number, exact, includes, f1, choice, yes_no, regex:PATTERN or judge. "
            "Default: what fits the first 1,000 answers, if they are all numbers, yes or no, or choices.",
            metavar="NAME",
        ),
    ] = ""
    domain: Annotated[
        str,
        Option(
            "Own file: the domain of wording and actions: maths, complex_qa or multimodal. Default: maths for "
            "numbers, multimodal with images, else complex_qa.",
            metavar="NAME",
        ),
    ] = ""
    licence: Annotated[str, Option("Own file: the licence of its rows. Default: unknown.")] = ""
    title: Annotated[
        str, Option("Own file: its name in jobs: letters, digits, . _ and -. Default: the file's name.")
    ] = ""
    judge: Annotated[
        str,
        Option(
            "Own file, with --scorer judge: the endpoint of a model that grades answers; short for --role judge=URL.",
            metavar="URL",
            entrances=COMMAND_ONLY,
        ),
    ] = ""
    rubric: Annotated[
        Path | None,
        Option(
            "Own file, with --scorer judge: the judge's prompt, a text with {answer}, and {question} and {gold} where "
            "they matter. Default: it asks whether the answer states what the right answer states.",
            metavar="FILE",
        ),
    ] = None
    grades: Annotated[
        int,
        Option(
            "Own file, with --scorer judge: 2 for right or wrong, 5 for grades 1 to 5.",
            metavar="2|5",
            shown_default="2",
        ),
    ] = 0
    votes: Annotated[
        int,
        Option(
            "Own file, with --scorer judge: votes on each answer, whose median counts.",
            min=0,
            max=99,
            shown_default="1",
        ),
    ] = 0
    roles: Annotated[
        tuple[str, ...],
        Option(
            "Endpoint of another role: qa, vqa, judge, captioner, policy, router, … May be repeated.",
            metavar="NAME=URL",
            flag="--role",
            entrances=CHANGED,
            pairs="text",
        ),
    ] = ()
    tools: Annotated[
        tuple[str, ...],
        Option(
            "A setting of the domain's actions, e.g. corpus=FILE or experts=own. May be repeated.",
            metavar="NAME=VALUE",
            flag="--tool",
            entrances=CHANGED,
            pairs="text",
        ),
    ] = ()
    options: Annotated[
        tuple[str, ...],
        Option(
            "A setting of the benchmark's reader, e.g. images=DIR. May be repeated.",
            metavar="NAME=VALUE",
            flag="--option",
            pairs="text",
        ),
    ] = ()
    shots: Annotated[
        int | None,
        Option(
            "Demonstrations in the prompt; default: with iterative all of webshop and intercode_sql, else none.", min=0
        ),
    ] = None
    answer_by: Annotated[
        str,
        Option(
            "The answer is the last value ('last') or what the QA tool concludes ('qa', as in LUMOS). Default: 'qa' "
            "if the domain has such a tool."
        ),
    ] = ""
    live: Annotated[bool, Option("Allow actions to call external tools, such as Wikipedia.")] = False
    replay: Annotated[str, Option("Answer calls of external tools as that job recorded them.", metavar="JOB")] = ""
    draw: Annotated[int, Option("Tasks drawn into each sample set; 0: all tasks, no sets.", min=0, max=MAX_INTEGER)] = 0
    sets: Annotated[int, Option("Number of sample sets, default 3; their tasks may overlap.", min=0, max=100)] = 0
    at_limit: Annotated[
        str,
        Option(
            "An episode that reaches the limit of subgoals counts as 'wrong', or the agent must 'conclude' and this "
            "answer is judged. Default, as in LUMOS: 'conclude' in maths, else 'wrong'."
        ),
    ] = ""
    reader: Annotated[
        str,
        Option(
            "How cot and direct read the answer from a reply: 'phrase' (what follows \"answer is\", or the whole "
            "reply, as in LUMOS) or 'flexible' (as instruct models write answers). Default: 'flexible' with chat://, "
            "else 'phrase'.",
            entrances=CHANGED,
        ),
    ] = ""
    settings: Annotated[
        tuple[str, ...],
        Option(
            "A limit of each episode (calls, tokens, actions; steps, depth, unit where the formulation has them), or "
            "a setting of the formulation. May be repeated.",
            metavar="NAME=VALUE",
            flag="--setting",
            entrances=CHANGED,
            pairs="text",
        ),
    ] = ()
    samplings: Annotated[
        tuple[str, ...],
        Option(
            "temperature, top_p or max_tokens of one role, e.g. policy.temperature=1. May be repeated.",
            metavar="ROLE.NAME=VALUE",
            flag="--sampling",
            entrances=CHANGED,
            pairs="text",
        ),
    ] = ()
    yes: Annotated[bool, Option("Approve every plan unchanged (open-ended); else a person has to approve it.")] = False
    stop: Annotated[
        tuple[str, ...] | None,
        Option(
            "A string at which each reply ends; \\n and \\t are read; '': none. May be repeated. Default: the "
            "formulation's for a role; else none for chat://, function: and plug-ins, and the line break for the "
            "others.",
            metavar="TEXT",
            entrances=SWEPT_AND_CHANGED,
        ),
    ] = None
    system: Annotated[
        str | None,
        Option(
            "The system message of cot and direct; '': none. Default: over chat:// an instruction that fits the "
            "benchmark's answers, else none.",
            metavar="TEXT|@FILE",
            entrances=SWEPT_AND_CHANGED,
        ),
    ] = None
    prompt: Annotated[
        str | None,
        Option(
            "A template of the prompts of cot and direct: {question}, {choices} and {examples} are replaced; or of "
            "model-synthesis, with {question} alone.",
            metavar="FILE",
            entrances=SWEPT_AND_CHANGED,
        ),
    ] = None
    request: Annotated[
        tuple[str, ...],
        Option(
            "A field of the requests to openai://, chat:// and tgi:// servers, e.g. reasoning_effort='\"low\"' or "
            "top_k=20; null leaves a field out. May be repeated.",
            metavar="[ROLE.]NAME=JSON",
            entrances=CHANGED,
            pairs="json",
        ),
    ] = ()
    price_prompt: Annotated[float, Option("USD per million prompt tokens.", min=0.0)] = 0.0
    price_completion: Annotated[float, Option("USD per million completion tokens.", min=0.0)] = 0.0
    budget: Annotated[
        float,
        Option("USD after which the job is paused; calls then in flight still cost. 0: no limit.", min=0.0),
    ] = 0.0
