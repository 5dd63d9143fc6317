"""Write and read checkpoints of `rltf`: model folders that `local:` serves, with states that the next step needs.

model.safetensors, config.json, the tokenizer's files   the policy in float32: the same weights sample and learn
adapter.safetensors                                     with LoRA, the adapter whose merged weights these are
training.pt                                             states of the optimizer and of the random numbers
state.json                                              baseline, epsilon, position, figures of all steps
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import torch
from peft import PeftModel, get_peft_model_state_dict, set_peft_model_state_dict
from safetensors.torch import load_file, save_file
from transformers import AutoConfig, AutoModelForCausalLM, AutoModelForSeq2SeqLM, PreTrainedModel

from lumos_queue.errors import SpecError
from lumos_queue.records import FeedbackStep
from lumos_queue.training.engine.checkpoints import checkpoint_of, partial_folder_of, seal_checkpoint
from lumos_queue.training.engine.model import add_adapters, load_tokenizer
from lumos_queue.training.recipes.rltf import Rltf, RltfSpec
from lumos_queue.util.model_loading import MODEL_LOADING
from lumos_queue.util.regular_file import check_entries, read_regular
from lumos_queue.util.untrusted_json import read_json

ADAPTER, TRAINING, STATE = "adapter.safetensors", "training.pt", "state.json"


@dataclass(frozen=True, slots=True)
class FitState:
    """The state of a fit after a step."""

    step: int  #: the last completed step; 0: none
    baseline: float | None  #: of the next step; None: there was no reward yet
    epsilon: float  #: of the next step
    registry: str = ""  #: digest of the experts that plans use; '' without experts
    history: tuple[FeedbackStep, ...] = ()

    @classmethod
    def from_json(cls, value: Mapping[str, Any]) -> FitState:
        return cls(**{**value, "history": tuple(FeedbackStep(**step) for step in value["history"])})


def import_architecture(folder: Path) -> None:
    """Import the module of the model in a folder without loading the model.

    The import takes longer than a step of a small model.
    """
    check_entries(folder)
    with MODEL_LOADING:
        config = AutoConfig.from_pretrained(folder, local_files_only=True)
        kind: Any = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
        kind._model_mapping[type(config)]


def load_policy(folder: Path) -> PreTrainedModel:
    """Load the model in a folder in float32 and in evaluation mode.

    Dropout would change the probabilities of the replies. Raises SpecError for a folder that is not a language model.
    """
    check_entries(folder)
    try:
        with MODEL_LOADING:
            config = AutoConfig.from_pretrained(folder, local_files_only=True)
            kind: Any = AutoModelForSeq2SeqLM if config.is_encoder_decoder else AutoModelForCausalLM
            model, loading_info = kind.from_pretrained(
                folder,
                local_files_only=True,
                use_safetensors=True,
                dtype=torch.float32,
                attn_implementation="eager",
                output_loading_info=True,
            )
    except (OSError, ValueError, KeyError, RuntimeError) as error:
        raise SpecError(f"No language model in '{folder}': {str(error).partition(chr(10))[0]}") from None
    if loading_info["missing_keys"]:  # they would be random
        raise SpecError(f"The weights in '{folder}' are incomplete: {min(loading_info['missing_keys'])} is missing.")
    return model.eval()


@dataclass(slots=True)
class Fit:
    """A fit in memory: the policy, its optimizer and its state."""

    policy: PreTrainedModel | PeftModel
    optimizer: torch.optim.Optimizer
    state: FitState
    random: torch.Generator


def begin_fit(spec: RltfSpec, policy: PreTrainedModel) -> Fit:
    """Return the fit of `policy` before its first step, with a new optimizer and state."""
    torch.manual_seed(spec.seed)  # for the random weights of adapters
    model = add_adapters(policy, spec.lora, []).eval() if spec.lora else policy
    parameters = [value for value in model.parameters() if value.requires_grad]
    optimizer = torch.optim.AdamW(parameters, lr=spec.rate, weight_decay=spec.weight_decay)
    return Fit(model, optimizer, FitState(0, None, spec.epsilon_at(1)), torch.Generator().manual_seed(spec.seed))


def save_fit(fit: Fit, recipe: Rltf, tokenizer: Any, facts: Mapping[str, Any]) -> None:
    """Write the checkpoint of the fit's last step; if the process is killed, there is none. Its seal has `facts`."""
    folder = recipe.checkpoints()
    partial_folder = partial_folder_of(folder)
    shutil.rmtree(partial_folder, ignore_errors=True)
    partial_folder.mkdir(parents=True)
    model = fit.policy
    if isinstance(fit.policy, PeftModel):
        save_file(get_peft_model_state_dict(fit.policy), partial_folder / ADAPTER)
        model = deepcopy(fit.policy).merge_and_unload()
    model.save_pretrained(str(partial_folder))
    tokenizer.save_pretrained(partial_folder)
    torch.save({"optimizer": fit.optimizer.state_dict(), "random": fit.random.get_state()}, partial_folder / TRAINING)
    (partial_folder / STATE).write_text(json.dumps(asdict(fit.state)) + "\n")
    for file in partial_folder.glob("*.safetensors"):
        file.chmod(0o644)  # safetensors files are readable by their owner only, but every worker reads the model
    step = fit.state.step
    seal_checkpoint(partial_folder, checkpoint_of(folder, step), {"fit": recipe.digest, "step": step, **facts})


def read_checkpoint(recipe: Rltf, step: int) -> dict[str, Any]:
    """Return the seal of the checkpoint of a step. Raises SpecError if it is missing, damaged or of another fit."""
    return recipe.check_seal(checkpoint_of(recipe.checkpoints(), step))


def load_fit(recipe: Rltf, step: int) -> Fit:
    """Load the fit after a step from its checkpoint. Raises the errors of `read_checkpoint`."""
    read_checkpoint(recipe, step)
    checkpoint = checkpoint_of(recipe.checkpoints(), step)
    start = recipe.checkpoints().parent / "start"
    fit = begin_fit(recipe.spec, load_policy(start if recipe.spec.lora else checkpoint))
    if isinstance(fit.policy, PeftModel):
        set_peft_model_state_dict(fit.policy, load_file(checkpoint / ADAPTER))
    training = torch.load(checkpoint / TRAINING, weights_only=True)
    fit.optimizer.load_state_dict(training["optimizer"])
    fit.random.set_state(training["random"])
    fit.state = FitState.from_json(read_json(read_regular(checkpoint / STATE, checkpoint)))
    return fit


def read_tokenizer(folder: Path) -> Any:
    """Load the tokenizer of a model folder. Raises SpecError if it has no end token, because replies need it."""
    tokenizer = load_tokenizer(str(folder))
    if tokenizer.eos_token_id is None:
        raise SpecError(f"The tokenizer in '{folder}' has no end token: a reply could not be ended.")
    return tokenizer
