"""What a plan that restores pictures loses without each of its experts, and how gold's order does among all orders."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import permutations

from experiments.experts.measure import SPLIT, mean_and_half
from lumos_queue.benchmarks.openagi.data.samples import load_input
from lumos_queue.experts.backends.registry import resolve
from lumos_queue.experts.host import ExpertHost
from lumos_queue.scoring.media.pixels import psnr

#: Gold's order.
RESTORERS = ("Image Super Resolution", "Image Denoising", "Image Deblurring", "Colorization")
_ALL = ("grayscale", "blurry", "noisy", "low-resolutioned")


@dataclass(frozen=True, slots=True)
class Loss:
    without: str
    decibels: float  #: that gold's plan has more than the plan without it
    half: float  #: half of the 95 % interval


async def measure_orders(
    host: ExpertHost, url: str, profile: str, n: int
) -> tuple[list[Loss], list[tuple[float, str]]]:
    """The loss without each expert, and the mean dB of each of the 24 orders, best first."""
    clean = [load_input("captions", SPLIT, number, "image") for number in range(n)]
    augmented_images = [load_input("captions", SPLIT, number, "image", _ALL, profile) for number in range(n)]
    images_by_plan: dict[tuple[str, ...], list[bytes]] = {(): augmented_images}

    async def run(plan: tuple[str, ...]) -> list[float]:
        """Return the score of each sample; common beginnings of plans run once."""
        for length in range(1, len(plan) + 1):
            if plan[:length] not in images_by_plan:
                before = images_by_plan[plan[: length - 1]]
                results = await host.run(resolve(plan[length - 1], url), [before])
                images_by_plan[plan[:length]] = [
                    output if isinstance(output, bytes) else old for output, old in zip(results, before, strict=True)
                ]
        return [min(60.0, psnr(image, aim)) for image, aim in zip(images_by_plan[plan], clean, strict=True)]

    gold = await run(RESTORERS)
    losses = []
    for name in RESTORERS:
        less = await run(tuple(restorer for restorer in RESTORERS if restorer != name))
        losses.append(
            Loss(
                name,
                *mean_and_half([gold_decibels - decibels for gold_decibels, decibels in zip(gold, less, strict=True)]),
            )
        )
    orders = [(sum(await run(plan)) / n, " > ".join(plan)) for plan in permutations(RESTORERS)]
    return losses, sorted(orders, reverse=True)
