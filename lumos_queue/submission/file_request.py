"""Define the benchmark of a person's own file from the options of a command."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

from db.kinds.job_kinds import JobKind
from lumos_queue.benchmarks.from_file.benchmark import FORMAT
from lumos_queue.benchmarks.from_file.definition import UNKNOWN_LICENCE, FieldNames, FileDefinition, make_title
from lumos_queue.benchmarks.from_file.guesses import (
    SAMPLE,
    Sample,
    Scoring,
    describe_fields,
    find_form,
    guess_fields,
    guess_scoring,
    has_answers,
    require_scorer,
)
from lumos_queue.benchmarks.from_file.row_choices import FORMS, OPTION
from lumos_queue.benchmarks.from_file.scorers import compares, open_scorer
from lumos_queue.benchmarks.registry import BENCHMARKS
from lumos_queue.domains.registry import DOMAINS
from lumos_queue.errors import BadRow, SpecError, unknown
from lumos_queue.readers.records import read_records
from lumos_queue.submission.agents import parse_pairs
from lumos_queue.submission.file_options import FileOptions, read_request_options
from lumos_queue.submission.program_rows import GivenRows, open_program_rows
from lumos_queue.submission.requests.inference import InferenceRequest
from lumos_queue.submission.settings_file import ENDING as SETTINGS_FILE
from lumos_queue.submission.settings_file import read_settings_file
from lumos_queue.util.runtime_types import has_type
from lumos_queue.util.sanitize import storable

QUESTIONS = "questions"  #: in place of a command's kind: only questions and choices are read
Remark = Callable[[str], None]
#: Endings of data files. A title has no ending, and a name with an ending is a path.
ENDINGS = (".csv", ".tsv", ".json", ".jsonl", ".ndjson", ".parquet", ".arrow")
COMPRESSED = ".gz"
#: Domains whose tasks are a question, and nothing else that a row would have to bring.
DOMAINS_OF_QUESTIONS = ("maths", "complex_qa", "multimodal")
MAX_SAMPLE = 2**24  #: characters of text after which no further row is looked at
GIVEN = "rows"  #: the name of a program's rows in messages


@dataclass(frozen=True, slots=True)
class FileRequest:
    """The rows that a command names: of a registered benchmark, or of a person's own file."""

    benchmark: str  #: the name under which its jobs are stored
    data: Path | None
    split: str  #: '': the default
    definition: FileDefinition | None = None
    roles: Sequence[str] = ()  #: NAME=URL of the judge


def resolve_source(kind: str, request: InferenceRequest, rows: GivenRows | None, remark: Remark) -> FileRequest:
    """Return the rows that a request names; `rows` are those of a program. Raises the errors of `resolve_file`."""
    options = read_request_options(request)
    if not request.benchmark:
        if rows is None:
            raise SpecError("Nothing to evaluate: name a benchmark or a file, or give rows.")
        return resolve_rows(rows, request.data, request.split, options, request.options, remark, kind=kind)
    if rows is None:
        return resolve_file(request.benchmark, request.data, request.split, options, request.options, remark, kind=kind)
    if names := options.option_names:
        raise SpecError(
            f"--{names[0]} is only for your own rows, without benchmark: leave out --{names[0]} or benchmark."
        )
    return FileRequest(request.benchmark, request.data, request.split)


def resolve_file(
    name: str,
    data: Path | None,
    split: str,
    options: FileOptions,
    reader_options: Sequence[str],
    remark: Remark,
    *,
    kind: str = JobKind.EVALUATE,
) -> FileRequest:
    """Return the rows that the argument BENCHMARK|FILE names; `kind` is the kind of the command.

    `reader_options`: each NAME=VALUE of `--option`. `remark` gets one line with the guessed fields and scorer. Raises
    SpecError for options without an effect, and the errors of `define_file`.
    """
    if not is_own_file(name):
        if names := options.option_names:
            raise SpecError(
                f"--{names[0]} is for a file of your own, and '{name[:80]}' is a registered benchmark: leave "
                "it out, or name a file."
            )
        return FileRequest(name, data, split)
    if data is not None:
        raise SpecError(f"'{name}' is the file itself: leave out --data.")
    path = Path(name).expanduser()
    if path.name.lower().endswith(SETTINGS_FILE):
        path, options, split = read_settings_file(path, options, split)
    definition = define_file(path, options, parse_pairs("--option", reader_options), remark, kind=kind)
    return FileRequest(definition.name, path, split, definition, options.judge.roles)


def resolve_rows(
    rows: GivenRows,
    data: Path | None,
    split: str,
    options: FileOptions,
    reader_options: Sequence[str],
    remark: Remark,
    *,
    kind: str = JobKind.EVALUATE,
) -> FileRequest:
    """Return the FileRequest of a program's rows that have no benchmark. Raises the errors of `define_rows`."""
    if data is not None:
        raise SpecError("Give rows or data, not both.")
    definition = define_rows(rows, options, parse_pairs("--option", reader_options), remark, kind=kind)
    return FileRequest(definition.name, None, split, definition, options.judge.roles)


def is_own_file(name: str) -> bool:
    """Return whether `name` is a path that exists, not the name of a registered benchmark (`./gsm8k` is a path).

    Raises SpecError for a path that does not exist.
    """
    if name in BENCHMARKS.names:
        return False
    try:
        exists = bool(name) and Path(name).expanduser().exists()
    except (OSError, ValueError, RuntimeError):  # too long, a NUL, no such user
        exists = False
    if not exists and _looks_like_path(name):
        preview = storable(name)[0][:200]
        raise SpecError(f"Cannot read '{preview}': it does not exist. Expected {FORMAT}, or the name of a benchmark.")
    return exists


def _looks_like_path(name: str) -> bool:
    return "/" in name or name.lower().removesuffix(COMPRESSED).endswith((*ENDINGS, SETTINGS_FILE))


def define_file(
    path: Path,
    options: FileOptions,
    reader_options: Mapping[str, str],
    remark: Remark,
    *,
    kind: str = JobKind.EVALUATE,
) -> FileDefinition:
    """Return the definition of a file's benchmark. Fields and scorer without an option are guessed from first rows.

    Raises SpecError for a file that cannot be read, a field that is missing or cannot be guessed, an unknown scorer or
    domain, and answers for which no scorer can be guessed.
    """
    if _is_pipe(path):
        raise SpecError(f"'{path}' is a pipe, which can be read only once. Data are read twice: write them to a file.")
    return _define(
        read_sample(path), make_title(options.title or title_of(path)), options, reader_options, remark, kind
    )


def define_rows(
    rows: GivenRows,
    options: FileOptions,
    reader_options: Mapping[str, str],
    remark: Remark,
    *,
    kind: str = JobKind.EVALUATE,
) -> FileDefinition:
    """Return the definition of the rows of a program. Raises SpecError for Tasks, and the errors of `define_file`."""
    if options.images:
        raise SpecError("Images are read from the folder of a data file, and rows of a program have none: give a file.")
    with open_program_rows(rows) as file:
        if not isinstance(file, Path):
            raise SpecError("rows are Tasks, which belong to a benchmark: name it, or give rows as mappings.")
        sample = replace(read_sample(file), name=GIVEN)
    return _define(sample, make_title(options.title or GIVEN), options, reader_options, remark, kind)


def read_sample(path: Path) -> Sample:
    """Return the readable rows among the first rows of a file. Raises SpecError if there are none."""
    rows: list[tuple[int, Mapping[str, Any]]] = []
    problem, size = None, 0
    for item in islice(read_records(path, FORMAT), SAMPLE):
        if isinstance(item, BadRow):
            problem = problem or item
            continue
        rows.append(item)
        size += sum(len(value) for value in item[1].values() if isinstance(value, str))
        if size > MAX_SAMPLE:
            break
    if not rows:
        raise SpecError(f"'{path}' has no row that can be read" + (f": {problem}." if problem else "."))
    return Sample(path.name, rows)


def title_of(path: Path) -> str:
    """Return the name of a file without its endings: `gsm8k` of gsm8k.jsonl.gz."""
    name = path.absolute().name
    if name.lower().endswith(COMPRESSED):
        name = name[: -len(COMPRESSED)]
    stem, dot, ending = name.rpartition(".")
    return stem if stem and f"{dot}{ending}".lower() in (*ENDINGS, SETTINGS_FILE) else name


def _define(
    sample: Sample, title: str, options: FileOptions, reader_options: Mapping[str, str], remark: Remark, kind: str
) -> FileDefinition:
    stated_names = FieldNames(
        options.question, tuple(options.answer), options.id, options.choices, options.images, options.rationale
    )
    if kind == QUESTIONS:
        question_names = FieldNames(options.question, choices=options.choices)
        return FileDefinition(
            title, guess_fields(sample, question_names, needs_answers=False, only=("question", "choices")), ""
        )
    if options.scorer:
        open_scorer(options.scorer)  # raises SpecError before more of the file is read
    judge = options.judge.define(options.scorer, kind)
    needs_answers = kind in (JobKind.EVALUATE, JobKind.CONVERT) and not (
        options.scorer and not compares(options.scorer, judge)
    )
    field_names = guess_fields(
        sample, stated_names, needs_answers=needs_answers, needs_rationales=kind == JobKind.CONVERT
    )
    scoring = _choose_scoring(sample, field_names, options, reader_options, kind)
    domain = _choose_domain(options.domain, scoring.scorer, field_names)
    evidence = f" ({scoring.evidence})" if scoring.evidence else ""
    scorer_note = f"; scorer: {scoring.scorer}{evidence}" if scoring.scorer else ""
    remark(f"fields: {describe_fields(field_names)}{scorer_note}")
    return FileDefinition(
        title,
        field_names,
        scoring.scorer,
        domain,
        " ".join(storable(options.licence)[0].split()) or UNKNOWN_LICENCE,
        judge,
        scoring.answer_form,
    )


def _choose_scoring(
    sample: Sample, field_names: FieldNames, options: FileOptions, reader_options: Mapping[str, str], kind: str
) -> Scoring:
    """Return the scorer of the options, or else a guess. Raises SpecError if a scorer is needed and none fits."""
    form = reader_options.get(OPTION, "")
    if form and form not in FORMS:
        raise unknown(f"value of --option {OPTION}", form, FORMS)
    if form and (not field_names.choices or options.scorer not in ("", "choice")):
        raise SpecError(f"--option {OPTION} is for answers that name choices: leave it out, or give --choices FIELD.")
    if options.scorer == "choice" and not field_names.choices:
        raise SpecError(
            f"The scorer choice needs the choices of each row: name their field of '{sample.name}' with --choices."
        )
    if form:
        return Scoring("choice", form, "")
    if options.scorer == "choice":
        return find_form(sample, field_names)
    if options.scorer:
        return Scoring(options.scorer)
    if kind != JobKind.EVALUATE and not has_answers(sample, field_names):
        return Scoring("")
    try:
        scoring = guess_scoring(sample, field_names)
    except SpecError:
        if kind != JobKind.INFER:  # where answers are not compared
            raise
        return Scoring("")
    if isinstance(scoring, Scoring):
        return scoring
    if kind == JobKind.EVALUATE:
        raise require_scorer(sample, scoring)
    return Scoring("")


def _choose_domain(domain: str, scorer: str, field_names: FieldNames) -> str:
    """Return the domain whose wording and actions a job uses. Raises SpecError if the rows do not fit `domain`."""
    if not domain:
        return "multimodal" if field_names.images else "maths" if scorer == "number" else "complex_qa"
    if domain not in (*DOMAINS_OF_QUESTIONS, *DOMAINS.plugin_names):
        raise unknown("domain of questions", domain, (*DOMAINS_OF_QUESTIONS, *DOMAINS.plugin_names))
    if field_names.images and domain != "multimodal":
        raise SpecError(f"The actions of the domain '{domain}' see no image: leave out --domain, or --images.")
    return domain


def _is_pipe(path: Path) -> bool:
    try:
        return stat.S_ISFIFO(path.stat().st_mode)
    except OSError:
        return False


def list_rows(rows: Iterable[Any]) -> GivenRows:
    """Return the rows as a list, which can be iterated twice. Raises SpecError if `rows` cannot be iterated."""
    if not has_type(rows, Iterable):
        raise SpecError(f"rows is {rows!r:.80}: expected a list of Tasks, or of rows as mappings.")
    return list(rows)
