"""Do one optimizer step of REINFORCE: the loss is the mean of −log P(replies)·(R − b) (arXiv:2304.04370, section 4).

The released code replaces R − b by the mean of the epoch's rewards so far (RltfSpec.is_released).
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

import torch
from peft import PeftModel

from lumos_queue.commands import digest
from lumos_queue.errors import DivergedFit, SpecError
from lumos_queue.records import FeedbackStep, TrainingStep
from lumos_queue.training.engine.resident_memory import peak_resident_bytes
from lumos_queue.training.recipes.rltf import RltfSpec
from lumos_queue.training.rltf.checkpoint import Fit, FitState
from lumos_queue.training.rltf.policy import AskEncoder, EncodedAsk, Logits, read_logits, score_replies
from lumos_queue.training.rltf.rollouts import RolloutAsk, RolloutBatch

MICRO_BATCH = 16  #: calls of one forward pass
#: Largest relative difference between the log-probability of a reply at decoding and here. Rounding makes about 0.0001.
TOLERANCE = 0.05


def step_fit(
    fit: Fit, spec: RltfSpec, steps: int, rollouts: RolloutBatch, encoder: AskEncoder, pad: int, reference: Any = None
) -> tuple[TrainingStep, FeedbackStep]:
    """Do one optimizer step on the rollouts; this changes `fit`. `reference` is the model that the fit started from.

    Raises DivergedFit when loss or gradient is not a number, and SpecError for rollouts of other weights or experts.
    """
    state = fit.state
    step = state.step + 1
    registry = _check_registry(state, rollouts)
    rewards = _rewards(fit, spec, rollouts)
    baseline = (state.baseline or 0.0) if spec.baseline is True else 0.0
    weights = [reward - baseline for reward in rewards]
    if spec.is_released:
        weights = [_mean_of_epoch(state, steps // spec.epochs, rewards)]
    rate = spec.rate_at(step, steps)
    for group in fit.optimizer.param_groups:
        group["lr"] = rate
    calls = [
        (ask, encoder.encode(ask), -weight / len(rewards))
        for episode, weight in zip(rollouts.episodes, weights, strict=True)
        for ask in episode.asks
    ]
    fit.optimizer.zero_grad()
    loss, entropy, kl = _backward(fit, calls, pad, reference, with_end=not spec.is_released)
    parameters = [value for group in fit.optimizer.param_groups for value in group["params"]]
    norm = float(torch.nn.utils.clip_grad_norm_(parameters, math.inf if spec.is_released else spec.clip))
    if not (math.isfinite(loss) and math.isfinite(norm)):
        raise DivergedFit(f"step {step}: the loss is {loss}, its gradient's norm {norm}")
    fit.optimizer.step()
    mean = sum(rewards) / len(rewards)
    feasible = [episode.feasible for episode in rollouts.episodes if episode.feasible is not None]
    feedback_step = FeedbackStep(
        fit="",
        step=step,
        rollouts=rollouts.job,
        episodes=len(rewards),
        reward=mean,
        baseline=baseline,
        feasible=sum(feasible) / len(feasible) if feasible else None,
        entropy=entropy / len(rewards),
        kl=kl / len(rewards),
        epsilon=state.epsilon,
    )
    new_baseline = mean if state.baseline is None else spec.momentum * state.baseline + (1 - spec.momentum) * mean
    epsilon = spec.epsilon_at(step + 1)
    fit.state = replace(
        state,
        step=step,
        baseline=new_baseline,
        epsilon=epsilon,
        registry=registry,
        history=(*state.history, feedback_step),
    )
    tokens = sum(len(encoded_ask.prompt) + len(encoded_ask.reply) for _, encoded_ask, _ in calls)
    return TrainingStep("", step, loss, rate, norm, tokens, peak_resident_bytes()), feedback_step


def _mean_of_epoch(state: FitState, steps: int, rewards: Sequence[float]) -> float:
    """Return the mean reward of the epoch's steps so far and of this step, which has one reward.

    `steps`: of an epoch. Raises SpecError for a step of several rewards.
    """
    if len(rewards) != 1:
        raise SpecError(f"A released step learns from one rollout, not {len(rewards)}: begin a fit with --batch 1.")
    earlier_steps = state.history[len(state.history) - state.step % steps :]
    return fmean([*(step.reward for step in earlier_steps), *rewards])


def _backward(
    fit: Fit, calls: Sequence[tuple[RolloutAsk, EncodedAsk, float]], pad: int, reference: Any, with_end: bool
) -> tuple[float, float, float]:
    """Compute the gradients of all calls; return the loss, and the sums of entropy and divergence over the calls."""
    policy = read_logits(fit.policy, pad)
    start_policy = _without_adapter(fit.policy, policy) if isinstance(fit.policy, PeftModel) else None
    if reference is not None:
        start_policy = read_logits(reference, pad)
    loss = entropy = kl = 0.0
    ordered_calls = sorted(calls, key=lambda call: len(call[1].prompt) + len(call[1].reply))
    for start in range(0, len(ordered_calls), MICRO_BATCH):
        part = ordered_calls[start : start + MICRO_BATCH]
        scores = score_replies(policy, [encoded_ask for _, encoded_ask, _ in part], start_policy)
        for (ask, _, _), score in zip(part, scores, strict=True):
            _check_weights(ask, float(score.logprob.detach()))
        terms = [
            weight * (score.logprob if with_end else score.logprob_without_end)
            for (_, _, weight), score in zip(part, scores, strict=True)
        ]
        total = torch.stack(terms).sum()
        total.backward()
        loss += float(total.detach())
        entropy += float(sum(score.entropy for score in scores))
        kl += float(sum(score.kl for score in scores))
    return loss, entropy, kl


def _without_adapter(model: PeftModel, policy: Logits) -> Logits:
    """Return a function that yields the logits of the start policy, which is the model without its adapter."""

    def read(asks: Sequence[EncodedAsk]) -> Iterator[torch.Tensor]:
        with model.disable_adapter():
            return iter(list(policy(asks)))

    return read


def _rewards(fit: Fit, spec: RltfSpec, rollouts: RolloutBatch) -> list[float]:
    rewards = [episode.reward for episode in rollouts.episodes]
    if spec.shuffle:
        rewards = [rewards[index] for index in torch.randperm(len(rewards), generator=fit.random).tolist()]
    return rewards


def _check_weights(ask: RolloutAsk, logprob: float) -> None:
    """Raise SpecError if the reply was not decoded by the policy that learns from it."""
    if ask.logprob is not None and not abs(logprob - ask.logprob) < TOLERANCE * max(1.0, abs(logprob)):
        raise SpecError(
            f"The rollouts are not of this checkpoint: a reply has log-probability {ask.logprob:.4f} there and "
            f"{logprob:.4f} here. Remove the job of the rollouts, and resume this one."
        )


def _check_registry(state: FitState, rollouts: RolloutBatch) -> str:
    """Return the digest of the experts that the plans use. Raises SpecError when they differ from earlier experts."""
    registry = state.registry
    for episode in rollouts.episodes:
        for ask in episode.asks:
            if ask.constraint is None:
                continue
            now = digest(*(json.dumps(expert, sort_keys=True) for expert in ask.constraint["experts"]))
            if registry and now != registry:
                raise SpecError(
                    "The checkpoint learnt to compose other experts than the plans of these rollouts are made of: the "
                    "registry has changed. Begin a new fit in a new --folder."
                )
            registry = now
    return registry
