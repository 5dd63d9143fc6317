"""Tokens, and what they cost at given prices."""

from __future__ import annotations

from collections.abc import Iterator

from lumos_queue.pages.blocks import Block, Figure, Table
from lumos_queue.pages.charts.bars import Bar, BarPart, draw_bars
from lumos_queue.pages.material import JobMaterial, Material, Prices
from lumos_queue.pages.wording import tell_price


def costs(material: Material) -> Iterator[Block]:
    jobs = [job for job in material.jobs if job.report.get("calls")]
    if not jobs:
        return
    bars, rows = [], []
    priced = any(_prices(job, material.prices) for job in jobs)
    for job in jobs:
        used = job.report["tokens"]
        asked, written, finished = used["prompt"], used["completion"], job.report["finished"]
        parts = [BarPart("in", asked, f"{asked:,}", "c0"), BarPart("out", written, f"{written:,}", "c1")]
        bars.append(Bar(job.label, parts, f"{asked + written:,}"))
        row = [job.label, f"{job.report['calls']:,}", f"{asked:,}", f"{written:,}", f"{asked + written:,}"]
        row.append(f"{(asked + written) / finished:,.0f}" if finished else "")
        rows.append(row + (_price_cells(job, asked, written, material.prices) if priced else []))
    heads = ["job", "model calls", "tokens in", "tokens out", "tokens", "per episode"]
    heads += ["price", "price per right answer"] if priced else []
    note = "Of finished episodes."
    if given := material.prices:
        note += f" Prices in USD per million tokens: {given.prompt:g} in, {given.completion:g} out."
    elif priced:
        note += " Prices are those that the job was submitted with."
    title = "Tokens of prompts (in) and of replies (out)"
    yield Figure(
        draw_bars("tokens", title, bars), Table(title, heads, rows, note), [("bar c0", "in"), ("bar c1", "out")]
    )


def _prices(job: JobMaterial, given: Prices | None) -> Prices | None:
    """The prices that were given, or else those of a conversion's teacher."""
    if given is None and "cost" in job.report:
        return Prices(*job.report["cost"]["prices"])
    return given


def _price_cells(job: JobMaterial, asked: int, written: int, given: Prices | None) -> list[str]:
    if (prices := _prices(job, given)) is None:
        return ["", ""]
    usd = (asked * prices.prompt + written * prices.completion) / 1e6
    right = job.report.get("correct")
    return [tell_price(usd), tell_price(usd / right) if right else ""]
