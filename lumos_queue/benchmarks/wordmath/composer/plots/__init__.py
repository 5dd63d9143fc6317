"""The plots by name, each with its weight. A plot begins a story."""

from __future__ import annotations

from collections.abc import Callable

from lumos_queue.benchmarks.wordmath.composer.plots.changes import comings_and_goings, gains_and_losses
from lumos_queue.benchmarks.wordmath.composer.plots.grid import doers, places
from lumos_queue.benchmarks.wordmath.composer.plots.groups import (
    pack_containers,
    rows,
    share_equally,
    two_kinds_of_groups,
)
from lumos_queue.benchmarks.wordmath.composer.plots.measures import cut_material, needs, sizes, temperatures
from lumos_queue.benchmarks.wordmath.composer.plots.money import buy_things, prices, saving, sell_things
from lumos_queue.benchmarks.wordmath.composer.plots.parts import parts
from lumos_queue.benchmarks.wordmath.composer.plots.rates import habits, journeys
from lumos_queue.benchmarks.wordmath.composer.story import Story

Plot = Callable[[Story], None]

PLOTS: dict[str, tuple[Plot, float]] = {
    "doers": (doers, 2.4),
    "places": (places, 1),
    "gains_and_losses": (gains_and_losses, 2.6),
    "comings_and_goings": (comings_and_goings, 2),
    "packing": (pack_containers, 1.5),
    "sharing": (share_equally, 1.6),
    "rows": (rows, 1.4),
    "shopping": (buy_things, 1.3),
    "prices": (prices, 0.9),
    "selling": (sell_things, 0.9),
    "saving": (saving, 0.8),
    "habits": (habits, 1.2),
    "journeys": (journeys, 1),
    "sizes": (sizes, 1.8),
    "cutting": (cut_material, 1.3),
    "needs": (needs, 1.1),
    "temperatures": (temperatures, 1),
    "parts": (parts, 1.2),
    "two_kinds_of_groups": (two_kinds_of_groups, 0.7),
}
