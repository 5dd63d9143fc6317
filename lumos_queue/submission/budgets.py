"""Checks of the options that limit what a job may cost."""

from __future__ import annotations

import math

from lumos_queue.errors import SpecError


def check_prices(budget: float, price_prompt: float, price_completion: float) -> None:
    """Raises SpecError for a number that is not finite, and for a budget without a price."""
    if not all(map(math.isfinite, (budget, price_prompt, price_completion))):
        raise SpecError("--budget, --price-prompt and --price-completion must be finite numbers.")
    if budget and not (price_prompt or price_completion):
        raise SpecError(
            "--budget needs prices in USD per million tokens: give --price-prompt USD or --price-completion USD."
        )
