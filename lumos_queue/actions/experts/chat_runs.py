"""Run an expert that is a chat model: each sample is a model call of the episode, recorded before its reply is read."""

from __future__ import annotations

from collections.abc import Sequence

from lumos_queue.actions.experts.reuse import Results
from lumos_queue.actions.experts.session import Run
from lumos_queue.episode import StepContext
from lumos_queue.errors import EpisodeError
from lumos_queue.experts.backends.chat import MASK, read_reply, role_of, write_prompt
from lumos_queue.experts.base import Kind
from lumos_queue.experts.problems import BAD_INPUT, BAD_OUTPUT, Problem
from lumos_queue.records import Ending, FinishReason
from lumos_queue.util.task_group import run_together


async def ask_samples(run: Run, version: str, context: StepContext) -> Results:
    """Return a result for each sample. `version`: of the prompts.

    A sample whose prompt does not fit into the model's context, or whose reply is empty, has a problem. Raises the
    other errors of `Endpoint.generate`. A masked text without a mask needs no call.
    """
    # Each call takes the next branch of the action when its coroutine starts, and they start in this order.
    return await run_together([_ask(run, sample, version, context) for sample in run.samples])


async def _ask(run: Run, sample: int, version: str, context: StepContext) -> bytes | Problem:
    texts = _inputs(run, sample, Kind.TEXT)
    if run.expert.name == "Fill Mask" and MASK not in texts[0]:
        return texts[0].encode()
    prompt = write_prompt(run.expert.name, texts, version)
    try:
        completion = await context.ask(role_of(run.expert), prompt, tuple(_inputs(run, sample, Kind.IMAGE)))
    except EpisodeError as error:
        if error.ending != Ending.LIMIT:
            raise
        return Problem(BAD_INPUT, str(error)[:200])
    output = read_reply(run.expert.name, texts, completion.text, version)
    if not output:
        cause = "the limit of tokens cut it" if completion.finish_reason == FinishReason.LENGTH else "it has no answer"
        return Problem(BAD_OUTPUT, f"the model's reply cannot be used: {cause}")
    return output.encode()


def _inputs(run: Run, sample: int, kind: Kind) -> Sequence[str]:
    """Return a sample's inputs of this kind, in the order of the slots: texts, or sha256 of images."""
    return [item for values in run.inputs if values.kind is kind and (item := values.items[sample]) is not None]
