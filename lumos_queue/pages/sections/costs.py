"""The section on tokens and their costs."""

from __future__ import annotations

from collections.abc import Iterator

from lumos_queue.pages.blocks import Block, Figure, Table
from lumos_queue.pages.charts.bars import Bar, BarPart, draw_bars
from lumos_queue.pages.material import JobMaterial, Material, Prices
from lumos_queue.pages.wording import format_price


def costs(material: Material) -> Iterator[Block]:
    jobs = [job for job in material.jobs if job.report.get("calls")]
    if not jobs:
        return
    bars, rows = [], []
    has_prices = any(_prices(job, material.prices) for job in jobs)
    for job in jobs:
        tokens = job.report["tokens"]
        prompt_tokens, output_tokens, episodes = tokens["prompt"], tokens["completion"], job.report["finished"]
        parts = [
            BarPart("in", prompt_tokens, f"{prompt_tokens:,}", "c0"),
            BarPart("out", output_tokens, f"{output_tokens:,}", "c1"),
        ]
        bars.append(Bar(job.label, parts, f"{prompt_tokens + output_tokens:,}"))
        row = [
            job.label,
            f"{job.report['calls']:,}",
            f"{prompt_tokens:,}",
            f"{output_tokens:,}",
            f"{prompt_tokens + output_tokens:,}",
        ]
        row.append(f"{(prompt_tokens + output_tokens) / episodes:,.0f}" if episodes else "")
        rows.append(row + (_price_cells(job, prompt_tokens, output_tokens, material.prices) if has_prices else []))
    heads = ["job", "model calls", "tokens in", "tokens out", "tokens", "per episode"]
    heads += ["price", "price per right answer"] if has_prices else []
    note = "Of finished episodes."
    if prices := material.prices:
        note += f" Prices in USD per million tokens: {prices.prompt:g} in, {prices.completion:g} out."
    elif has_prices:
        note += " Prices are those that the job was submitted with."
    title = "Tokens of prompts (in) and of replies (out)"
    yield Figure(
        draw_bars("tokens", title, bars), Table(title, heads, rows, note), [("bar c0", "in"), ("bar c1", "out")]
    )


def _prices(job: JobMaterial, page_prices: Prices | None) -> Prices | None:
    """Return the prices of the page, or those of a conversion's teacher if the page has none."""
    if page_prices is None and "cost" in job.report:
        return Prices(*job.report["cost"]["prices"])
    return page_prices


def _price_cells(job: JobMaterial, prompt_tokens: int, output_tokens: int, page_prices: Prices | None) -> list[str]:
    if (prices := _prices(job, page_prices)) is None:
        return ["", ""]
    usd = (prompt_tokens * prices.prompt + output_tokens * prices.completion) / 1e6
    right = job.report.get("correct")
    return [format_price(usd), format_price(usd / right) if right else ""]
