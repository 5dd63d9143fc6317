"""The section on tokens and their costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from lumos_queue.pages.blocks import Block, Figure, Table
from lumos_queue.pages.charts.bars import Bar, BarPart, draw_bars
from lumos_queue.pages.material import JobMaterial, Material, Prices
from lumos_queue.reports.totals import ModelUse, Tokens
from lumos_queue.util.wording import format_price


def costs(material: Material) -> Iterator[Block]:
    uses = [(job, job.report.episodes.use) for job in material.jobs if job.report.episodes]
    if called := [(job, use) for job, use in uses if use.calls]:
        yield _tokens(called, material)
    yield from _tabulate_adoption(material.jobs)


def _tokens(uses: Sequence[tuple[JobMaterial, ModelUse]], material: Material) -> Figure:
    """Return the figure of the calls, tokens and prices of jobs."""
    bars, rows = [], []
    has_prices = any(_prices(job, material.prices) for job, _ in uses)
    has_checks = any(job.report.calls_as_expected for job, _ in uses)
    for job, use in uses:
        prompt_tokens, output_tokens, episodes = use.tokens.prompt, use.tokens.completion, job.report.finished
        parts = [
            BarPart("in", prompt_tokens, f"{prompt_tokens:,}", "c0"),
            BarPart("out", output_tokens, f"{output_tokens:,}", "c1"),
        ]
        bars.append(Bar(job.label, parts, f"{use.tokens.total:,}"))
        row = [
            job.label,
            f"{use.calls:,}",
            f"{prompt_tokens:,}",
            f"{output_tokens:,}",
            f"{use.tokens.total:,}",
        ]
        row.append(f"{use.tokens.total / episodes:,.0f}" if episodes else "")
        row += [_count_expected(job)] if has_checks else []
        rows.append(row + (_price_cells(job, use.tokens, material.prices) if has_prices else []))
    heads = ["job", "model calls", "tokens in", "tokens out", "tokens", "per episode"]
    heads += ["episodes with expected calls"] if has_checks else []
    heads += ["price", "price per right answer"] if has_prices else []
    note = "Of finished episodes."
    if prices := material.prices:
        note += f" Prices in USD per million tokens: {prices.prompt:g} in, {prices.completion:g} out."
    elif has_prices:
        note += " Prices are those that the job was submitted with."
    title = "Tokens of prompts (in) and of replies (out)"
    return Figure(
        draw_bars("tokens", title, bars), Table(title, heads, rows, note), [("bar c0", "in"), ("bar c1", "out")]
    )


def _count_expected(job: JobMaterial) -> str:
    """Return in how many episodes the model was called as often as the formulation does for the subgoals."""
    check = job.report.calls_as_expected
    return f"{check.as_expected:,} of {check.episodes:,}" if check else ""


def _tabulate_adoption(jobs: Sequence[JobMaterial]) -> Iterator[Table]:
    """Yield a table of what other jobs spent on adopted episodes, which no other figure of the page counts."""
    rows = [
        [
            job.label,
            f"{adoption.episodes:,} of {adoption.of:,}",
            adoption.parent,
            f"{adoption.use.calls:,}",
            f"{adoption.use.tokens.prompt:,}",
            f"{adoption.use.tokens.completion:,}",
        ]
        for job in jobs
        if (adoption := job.report.adopted)
    ]
    if rows:
        heads = ["job", "adopted episodes", "from", "model calls", "tokens in", "tokens out"]
        yield Table("What adopted episodes cost their jobs", heads, rows, texts=frozenset({0, 2}))


def _prices(job: JobMaterial, page_prices: Prices | None) -> Prices | None:
    """Return the prices of the page, or those of a conversion's teacher if the page has none."""
    if page_prices is None and job.report.price:
        return Prices(*job.report.price.prices)
    return page_prices


def _price_cells(job: JobMaterial, tokens: Tokens, page_prices: Prices | None) -> list[str]:
    if (prices := _prices(job, page_prices)) is None:
        return ["", ""]
    usd = (tokens.prompt * prices.prompt + tokens.completion * prices.completion) / 1e6
    right = job.report.scores.correct if job.report.scores else None
    return [format_price(usd), format_price(usd / right) if right else ""]
