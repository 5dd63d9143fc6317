"""inspect-ai at the same work, with its log on: a solver that makes the same calls through its OpenAI provider."""
# inspect-ai comes with the extra `performance`; `make check` has only `dev`.
# pyright: reportMissingImports=false

from __future__ import annotations

import os
import time
from collections.abc import Sequence

from performance.contender import Measurement, Meter, Spec, main
from performance.episode import turns
from performance.questions import Question


def solve_all(spec: Spec, work: Sequence[Question]) -> int:
    """Evaluate; returns how many answers were right. Raises RuntimeError when inspect-ai says it failed."""
    from inspect_ai import Task, eval
    from inspect_ai.dataset import MemoryDataset, Sample
    from inspect_ai.model import ChatMessage, ChatMessageUser, GenerateConfig, get_model
    from inspect_ai.scorer import match
    from inspect_ai.solver import Generate, TaskState, solver

    @solver
    def plan_and_ground():
        async def solve(state: TaskState, generate: Generate) -> TaskState:
            model = get_model()
            talks: dict[str, list[ChatMessage]] = {"planner": [], "grounder": []}
            episode = turns(state.input_text)
            role, message = next(episode)
            while True:
                talks[role].append(ChatMessageUser(content=message))
                output = await model.generate(talks[role])
                talks[role].append(output.message)
                try:
                    role, message = episode.send(output.completion)
                except StopIteration as stop:
                    state.output.completion = stop.value
                    return state

        return solve

    samples = [Sample(input=question.text, target=question.answer, id=question.number) for question in work]
    model = get_model(
        "openai-api/additions/additions",
        base_url=f"{spec.url}/v1",
        api_key="none",
        config=GenerateConfig(max_connections=spec.in_flight, max_tokens=512, temperature=0.0),
        memoize=False,
    )
    logs = eval(
        Task(dataset=MemoryDataset(samples), solver=plan_and_ground(), scorer=match(location="exact")),
        model=model,
        max_samples=spec.in_flight,
        display="none",
        log_dir=str(spec.path / "logs"),
    )
    if logs[0].status != "success" or logs[0].results is None:
        raise RuntimeError(f"inspect-ai ended as {logs[0].status}: {logs[0].error}")
    return round(logs[0].results.scores[0].metrics["accuracy"].value * len(work))


def _run(spec: Spec) -> Measurement:
    solve_all(spec, spec.warm_up()[:16])
    work = spec.work()
    meter = Meter(spec, os.getpid())
    right = solve_all(spec, work)
    return meter.stop(right, time.time())


if __name__ == "__main__":
    main(_run)
