"""Planners of plans of experts with random weights, and rollouts of them made by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from lumos_queue.benchmarks.openagi.tasks import TASKS
from lumos_queue.experts.catalogue import PLANNABLE
from lumos_queue.experts.plan_constraint import PlanConstraint
from lumos_queue.prompts.dialogue import Turn, render
from lumos_queue.training.recipes.rltf import Rltf, RltfSpec, content_of
from lumos_queue.training.rltf.rollouts import RolloutAsk, RolloutBatch, RolloutEpisode
from tests.tiny_fits import PHRASES, write_llama


def planner_prompt(number: int) -> str:
    """What a fine-tuned planner is asked about a task of OpenAGI."""
    return render((Turn("user", TASKS[number].description),), "train")


def write_planner(folder: Path) -> Path:
    """A Llama of 30,000 parameters whose tokenizer has a token for each expert."""
    from lumos_queue.training.tokenizer import train_tokenizer

    tokenizer = train_tokenizer((task.description for task in TASKS), 400, (*PHRASES, *PLANNABLE))
    return write_llama(folder, tokenizer, tied=True)


def write_t5_planner(folder: Path) -> Path:
    """The same as an encoder with a decoder."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    from lumos_queue.training.tokenizer import train_tokenizer

    tokenizer = train_tokenizer((task.description for task in TASKS), 400, (*PHRASES, *PLANNABLE))
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=32,
        d_kv=8,
        d_ff=48,
        num_layers=2,
        num_heads=4,
        decoder_start_token_id=tokenizer.pad_token_id,
        pad_token_id=tokenizer.pad_token_id,
        eos_token_id=tokenizer.eos_token_id,
        tie_word_embeddings=False,
    )
    torch.manual_seed(5)
    T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def gold_rollouts(rewards: dict[int, float], job: str = "aaaaaaaa") -> RolloutBatch:
    """The gold plans of tasks of OpenAGI as rollouts with these rewards, by the task's id."""
    episodes = []
    for number, reward in rewards.items():
        constraint = PlanConstraint(TASKS[number].signature).as_json()
        ask = RolloutAsk(planner_prompt(number), TASKS[number].plan.write(), True, constraint)
        episodes.append(RolloutEpisode((ask,), reward, True))
    return RolloutBatch(job, tuple(episodes))


def tiny_recipe(start: Path, folder: Path, **values: Any) -> Rltf:
    """Steps over the first tasks of OpenAGI; nothing is evaluated by it."""
    spec = RltfSpec(**{"epochs": 3, "batch": 4, "rate": 0.01, "warm_up": 0.0, **values})
    evaluation = {"dataset": "none", "agent": {"sampling": {}}}
    return Rltf(str(start), str(folder), content_of(start), evaluation, ("planner",), tuple(range(8)), "proxies", spec)
