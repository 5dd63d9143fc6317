"""Commands that submit a job: evaluate, infer."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import typer

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli import own_file as own
from lumos_queue.cli.jobs import show_reports
from lumos_queue.jobs.scheduling import Scheduling

if TYPE_CHECKING:
    from db.tags import NameAndTags
    from lumos_queue.jobs.base import Job
    from lumos_queue.settings import Settings
    from lumos_queue.submission.store import Rows


def submit_and_finish(
    settings: Settings,
    job: Job,
    rows: Rows | None,
    *,
    name_and_tags: NameAndTags | None = None,
    windows: int = 0,
    scheduling: Scheduling,
    again: bool,
    follow: bool,
) -> None:
    """Store a job, run or queue it, print its report or its id, and exit. Commands that submit a job end with this."""
    from lumos_queue.cli.run import submit_and_run

    follow = follow or not settings.broker_url
    identifier, code = submit_and_run(
        settings,
        job,
        rows,
        name_and_tags=name_and_tags,
        windows=windows,
        scheduling=scheduling,
        again=again,
        follow=follow,
    )
    finish(settings, identifier, code, follow)


def finish(settings: Settings, identifier: str, code: int, follow: bool) -> None:
    """Print the job's report, or its id alone if the command does not wait for the result, and exit."""
    if follow:
        report_code = show_reports(settings, [identifier])
        code = code or report_code
    elif output.as_json:
        output.emit({"job": identifier})
    else:
        output.show(identifier)
    raise typer.Exit(code)


def _inference_command(kind: str, help: str) -> Callable[..., None]:
    """Return the command for jobs of a kind, 'evaluate' or 'infer'. The two commands have the same options."""

    def command(
        benchmark: opt.BenchmarkOrFile,
        data: opt.Data = None,
        split: opt.Split = "",
        formulation: opt.Formulation = "",
        agent: opt.AgentName = "",
        planner: opt.Planner = "",
        grounder: opt.Grounder = "",
        solver: opt.Solver = "",
        limit: opt.Limit = 0,
        samples: opt.Samples = 1,
        seed: opt.Seed = 0,
        temperature: opt.ChosenTemperature = None,
        top_p: opt.ChosenTopP = None,
        max_tokens: opt.ChosenMaxTokens = None,
        max_subgoals: opt.MaxSubgoals = 0,
        framing: opt.Framing = "train",
        skip_bad_rows: opt.SkipBad = False,
        published: opt.Published = False,
        question: own.Question = "",
        answer: own.Answer = [],
        id: own.Id = "",
        choices: own.Choices = "",
        images: own.Images = "",
        rationale: own.Rationale = "",
        scorer: own.Scorer = "",
        domain: own.Domain = "",
        licence: own.Licence = "",
        title: own.Title = "",
        judge: own.Judge = "",
        rubric: own.Rubric = None,
        grades: own.Grades = 0,
        votes: own.Votes = 0,
        role: opt.Roles = [],
        tool: opt.ToolOptions = [],
        option: opt.RowOptions = [],
        shots: opt.Shots = None,
        answer_by: opt.AnswerBy = "",
        live: opt.Live = False,
        replay: opt.Replay = "",
        draw: opt.Draw = 0,
        sets: opt.Sets = 0,
        at_limit: opt.AtLimit = "",
        reader: opt.Reader = "",
        setting: opt.SettingOptions = [],
        sampling: opt.Samplings = [],
        yes: opt.Yes = False,
        stop: opt.Stop = [],
        system: opt.System = None,
        prompt: opt.Prompt = None,
        request: opt.Requests = [],
        price_prompt: opt.PricePrompt = 0.0,
        price_completion: opt.PriceCompletion = 0.0,
        budget: opt.Budget = 0.0,
        name: opt.Name = "",
        tag: opt.Tags = [],
        again: opt.Again = False,
        follow: opt.Follow = False,
        priority: opt.Priority = 0,
        concurrency: opt.Concurrency = 0,
        json: opt.Json = False,
    ) -> None:
        from lumos_queue.cli.data_offer import with_data
        from lumos_queue.settings import read_settings
        from lumos_queue.submission.file_options import FileOptions
        from lumos_queue.submission.file_request import resolve_file
        from lumos_queue.submission.inference_options import InferenceOptions
        from lumos_queue.submission.job_request import make_inference_job
        from lumos_queue.submission.judge_options import JudgeOptions, read_rubric
        from lumos_queue.submission.request_options import read_system, read_template, unescape_stops
        from lumos_queue.submission.role_samplings import resolve_common
        from lumos_queue.submission.tags import read_name_and_tags

        settings, name_and_tags = read_settings(), read_name_and_tags(name, tag)
        grader = JudgeOptions(judge, read_rubric(rubric), grades, votes)
        file_options = FileOptions(
            question, answer, id, choices, images, rationale, scorer, domain, licence, title, grader
        )
        file = resolve_file(benchmark, data, split, file_options, option, output.say, kind=kind)
        options = InferenceOptions(
            benchmark=file.benchmark,
            data=file.data,
            definition=file.definition,
            split=file.split,
            formulation=formulation,
            agent=agent,
            planner=planner,
            grounder=grounder,
            solver=solver,
            limit=limit,
            samples=samples,
            seed=seed,
            **resolve_common({"temperature": temperature, "top_p": top_p, "max_tokens": max_tokens}),
            max_subgoals=max_subgoals,
            framing=framing,
            skip_bad_rows=skip_bad_rows,
            roles=[*role, *file.roles],
            tools=tool,
            options=option,
            shots=shots,
            answer_by=answer_by,
            live=live,
            replay=replay,
            draw=draw,
            sets=sets,
            at_limit=at_limit,
            reader=reader,
            settings=setting,
            samplings=sampling,
            yes=yes,
            stop=unescape_stops(stop),
            system=read_system(system),
            prompt=read_template(prompt) or "",
            requests=request,
            budget=budget,
            price_prompt=price_prompt,
            price_completion=price_completion,
            published=published,
        )
        job, rows = with_data(settings, lambda: make_inference_job(kind, options, settings, output.say))
        submit_and_finish(
            settings,
            job,
            rows,
            name_and_tags=name_and_tags,
            scheduling=Scheduling(priority, concurrency),
            again=again,
            follow=follow,
        )

    command.__doc__ = help
    return command


evaluate = _inference_command("evaluate", "Run an agent on a benchmark and score its answers.")
infer = _inference_command("infer", "Run an agent on a benchmark, unscored.")
