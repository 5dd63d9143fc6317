"""One optimizer step of RLTF is the step of its formula, written here a second time with nothing but PyTorch."""

from __future__ import annotations

import math

import pytest

from lumos_queue.endpoints.token_constraint import TokenConstraint
from lumos_queue.errors import DivergedFit, SpecError
from lumos_queue.experts.plan_constraint import PlanConstraint
from lumos_queue.training.engine.checkpoints import checkpoint_of
from lumos_queue.training.engine.progress import Reporter
from lumos_queue.training.engine.spec import LoraShape
from lumos_queue.training.recipes.rltf import RltfSpec
from lumos_queue.training.rltf.rollouts import RolloutAsk, RolloutBatch, RolloutEpisode
from tests.tiny_planners import gold_rollouts, planner_prompt, tiny_recipe, write_planner, write_t5_planner

REWARDS = {20: 1.0, 110: 0.25, 120: -1.0, 180: 0.5, 106: 0.75}
FREE = RolloutAsk("<|user|>\nAdd 2 and 3.\n<|assistant|>\n", "Subgoal 1: Add 2 and 3.", True)


@pytest.fixture(scope="module")
def planner(tmp_path_factory):
    return write_planner(tmp_path_factory.mktemp("rltf") / "planner")


@pytest.fixture(scope="module")
def t5_planner(tmp_path_factory):
    return write_t5_planner(tmp_path_factory.mktemp("rltf") / "t5")


def hand_written_logprob(model, tokenizer, ask, apart=False, end=True):
    """log P of a reply token by token: the logits of each place from a pass of its own, renormalised in float64."""
    import torch

    prompt = tokenizer(ask.prompt, add_special_tokens=True)["input_ids"]
    if ask.constraint is None:
        whole = tokenizer(ask.prompt + ask.reply, add_special_tokens=True)["input_ids"]
        path = [(token, None) for token in (*whole[len(prompt) :], tokenizer.eos_token_id)]
    else:
        constraint = PlanConstraint.from_json(ask.constraint)
        before = "" if apart else ask.prompt
        path = TokenConstraint(constraint, tokenizer, tokenizer.eos_token_id, before).trace(ask.reply)
    if not end:
        assert path[-1][0] == tokenizer.eos_token_id
        path = path[:-1]
    total, written = 0.0, []
    for token, allowed in path:
        if apart:
            start = model.config.decoder_start_token_id
            logits = model(
                input_ids=torch.tensor([prompt]), decoder_input_ids=torch.tensor([[start, *written]])
            ).logits[0, -1]
        else:
            logits = model(input_ids=torch.tensor([[*prompt, *written]])).logits[0, -1]
        chosen = list(range(len(logits))) if allowed is None else list(allowed)
        total = total + logits[token].double() - logits[chosen].double().logsumexp(0)
        written.append(token)
    return total


def encoder(tokenizer, apart=False):
    from lumos_queue.training.rltf.policy import AskEncoder

    return AskEncoder(tokenizer, bos=True, encoder_decoder=apart)


@pytest.mark.parametrize("kind", ["causal", "encoder-decoder"])
def test_log_probabilities_are_those_of_a_naive_computation(kind, planner, t5_planner):
    from transformers import AutoTokenizer

    from lumos_queue.training.rltf.checkpoint import load_policy
    from lumos_queue.training.rltf.policy import read_logits, score_replies

    folder, apart = (planner, False) if kind == "causal" else (t5_planner, True)
    tokenizer, model = AutoTokenizer.from_pretrained(folder), load_policy(folder)
    asks = [one.asks[0] for one in gold_rollouts(REWARDS).episodes] + [FREE]
    encoded = [encoder(tokenizer, apart).encode(ask) for ask in asks]
    scores = score_replies(read_logits(model, tokenizer.pad_token_id), encoded)
    for ask, score in zip(asks, scores, strict=True):
        assert float(score.logprob) == pytest.approx(
            float(hand_written_logprob(model, tokenizer, ask, apart)), rel=1e-6, abs=1e-5
        )


@pytest.mark.parametrize("double", [False, True], ids=["float32", "float64"])
@pytest.mark.parametrize("kind", ["causal", "encoder-decoder"])
def test_a_step_is_the_hand_written_step(kind, double, planner, t5_planner):
    """In float32 the gradients are compared: AdamW's first steps turn the last bit of a gradient near 0 into its sign,
    and so into a whole step. In float64, norms still compute in float32: their last bits are 1e-4 of a step where a
    gradient is as small as AdamW's epsilon. T5 computes parts in float32 whatever it is given."""
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    from lumos_queue.training.rltf.checkpoint import begin_fit, load_policy
    from lumos_queue.training.rltf.update import step_fit

    precision = torch.float64 if double else torch.float32
    folder, apart = (planner, False) if kind == "causal" else (t5_planner, True)
    spec = RltfSpec(rate=0.001, warm_up=0.0, weight_decay=0.02, clip=0.5)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    fit = begin_fit(spec, load_policy(folder).to(precision))
    loader = AutoModelForSeq2SeqLM if apart else AutoModelForCausalLM
    by_hand = loader.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval().to(precision)
    optimizer = torch.optim.AdamW(by_hand.parameters(), lr=0.001, weight_decay=0.02)
    baseline = 0.0
    for step, rewards in enumerate((REWARDS, {20: 0.5, 110: 0.125, 177: 1.0}), start=1):
        rollouts = gold_rollouts(rewards)
        done, learnt = step_fit(fit, spec, 4, rollouts, encoder(tokenizer, apart), tokenizer.pad_token_id)
        for group in optimizer.param_groups:
            group["lr"] = 0.001 * (5 - step) / 4
        optimizer.zero_grad()
        loss = sum(
            -hand_written_logprob(by_hand, tokenizer, one.asks[0], apart) * (one.reward - baseline)
            for one in rollouts.episodes
        ) / len(rewards)
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(by_hand.parameters(), 0.5)
        optimizer.step()
        assert done.loss == pytest.approx(float(loss), abs=1e-5)
        assert done.grad_norm == pytest.approx(float(norm), rel=1e-4)
        assert done.rate == pytest.approx(0.001 * (5 - step) / 4)
        assert learnt.baseline == pytest.approx(baseline)
        mean = sum(rewards.values()) / len(rewards)
        assert learnt.reward == pytest.approx(mean)
        baseline = mean if step == 1 else 0.9 * baseline + 0.1 * mean
        assert fit.state.baseline == pytest.approx(baseline)
        assert fit.state.epsilon == pytest.approx(0.2 * 0.9**step)
        if precision == torch.float64 and not apart:
            for name, value in by_hand.state_dict().items():
                assert torch.allclose(fit.policy.state_dict()[name], value, rtol=0, atol=1e-6), name
        for (name, one), other in zip(fit.policy.named_parameters(), by_hand.parameters(), strict=True):
            assert torch.allclose(one.grad, other.grad, rtol=0, atol=1e-6), name
        if precision == torch.float32 or apart:
            break  # after it the weights may differ by more


@pytest.mark.parametrize("kind", ["causal", "encoder-decoder"])
def test_a_released_step_is_the_hand_written_step(kind, planner, t5_planner):
    """The loss is −log P of the plan without its end token, times the mean of the epoch's rewards so far. T5 computes
    parts in float32 whatever it is given, so its gradients are compared, not its weights."""
    import torch
    from transformers import AutoModelForCausalLM, AutoModelForSeq2SeqLM, AutoTokenizer

    from lumos_queue.training.rltf.checkpoint import begin_fit, load_policy
    from lumos_queue.training.rltf.update import step_fit

    folder, apart = (planner, False) if kind == "causal" else (t5_planner, True)
    spec = RltfSpec(epochs=2, batch=1, rate=0.001, warm_up=0.0, weight_decay=1e-6, baseline="released", clip=0.001)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    fit = begin_fit(spec, load_policy(folder).double())
    loader = AutoModelForSeq2SeqLM if apart else AutoModelForCausalLM
    by_hand = loader.from_pretrained(folder, dtype=torch.float32, attn_implementation="eager").eval().double()
    optimizer = torch.optim.AdamW(by_hand.parameters(), lr=0.001, weight_decay=1e-6)
    epochs = ([(20, 0.5), (110, -1.0), (120, 0.8)], [(110, 0.25), (20, -1.0), (120, 1.0)])
    weights = (0.5, -0.25, 0.1, 0.25, -0.375, 0.25 / 3)
    for step, ((number, reward), weight) in enumerate(zip([*epochs[0], *epochs[1]], weights, strict=True), start=1):
        rollouts = gold_rollouts({number: reward})
        done, learnt = step_fit(fit, spec, 6, rollouts, encoder(tokenizer, apart), tokenizer.pad_token_id)
        for group in optimizer.param_groups:
            group["lr"] = 0.001 * (7 - step) / 6
        optimizer.zero_grad()
        (episode,) = rollouts.episodes
        loss = -hand_written_logprob(by_hand, tokenizer, episode.asks[0], apart, end=False) * weight
        loss.backward()
        optimizer.step()
        assert done.loss == pytest.approx(float(loss), abs=1e-6)
        assert (learnt.reward, learnt.baseline) == (reward, 0.0)
        for (name, one), other in zip(fit.policy.named_parameters(), by_hand.parameters(), strict=True):
            assert torch.allclose(one.grad, other.grad, rtol=0, atol=1e-6), name
        if apart:
            break  # after it the weights may differ by more
        for name, value in by_hand.state_dict().items():
            assert torch.allclose(fit.policy.state_dict()[name], value, rtol=0, atol=1e-6), name


def test_entropy_and_divergence_are_those_of_the_choices_that_were_allowed(planner):
    import torch
    from transformers import AutoTokenizer

    from lumos_queue.training.rltf.checkpoint import load_policy
    from lumos_queue.training.rltf.policy import read_logits, score_replies

    tokenizer, policy = AutoTokenizer.from_pretrained(planner), load_policy(planner)
    other = load_policy(planner)
    with torch.no_grad():
        other.get_input_embeddings().weight.mul_(1.5)
    ask = gold_rollouts({20: 1.0}).episodes[0].asks[0]
    pad = tokenizer.pad_token_id
    (score,) = score_replies(read_logits(policy, pad), [encoder(tokenizer).encode(ask)], read_logits(other, pad))
    path = TokenConstraint(PlanConstraint.from_json(ask.constraint), tokenizer, tokenizer.eos_token_id, ask.prompt)
    entropy = divergence = 0.0
    written = tokenizer(ask.prompt)["input_ids"]
    for token, allowed in path.trace(ask.reply):
        with torch.no_grad():
            one, two = (
                model(torch.tensor([written])).logits[0, -1][list(allowed)].double().softmax(0)
                for model in (policy, other)
            )
        entropy -= float((one * one.log()).sum())
        divergence += float((one * (one / two).log()).sum())
        written.append(token)
    assert float(score.entropy) == pytest.approx(entropy, abs=1e-5)
    assert float(score.kl) == pytest.approx(divergence, abs=1e-5) and divergence > 0.001


def test_a_reward_above_the_baseline_makes_a_plan_likelier_and_one_below_it_less(planner, tmp_path):
    import torch
    from transformers import AutoTokenizer

    from lumos_queue.training.rltf.checkpoint import load_policy
    from lumos_queue.training.rltf.work import prepare, run_item

    recipe = tiny_recipe(planner, tmp_path / "fit")
    prepare(recipe)
    rollouts = gold_rollouts({20: 1.0, 110: -1.0})
    before, after = [], []
    for step, found in ((0, before), (1, after)):
        if step:
            run_item(recipe, {"do": "update", "step": 1, "rollouts": rollouts.as_json()})
        model = load_policy(checkpoint_of(recipe.checkpoints(), step))
        tokenizer = AutoTokenizer.from_pretrained(planner)
        with torch.no_grad():
            found += [float(hand_written_logprob(model, tokenizer, one.asks[0])) for one in rollouts.episodes]
    assert after[0] > before[0] and after[1] < before[1]


def test_a_window_is_found_again_and_not_learnt_twice(planner, tmp_path):
    import torch
    from safetensors.torch import load_file

    from lumos_queue.training.rltf.checkpoint import load_fit
    from lumos_queue.training.rltf.work import prepare, run_item

    recipe = tiny_recipe(planner, tmp_path / "fit", shuffle=True)
    prepare(recipe)
    first = gold_rollouts(REWARDS)
    window = {"do": "update", "step": 1, "rollouts": first.as_json()}
    one = run_item(recipe, window)
    weights = load_file(checkpoint_of(recipe.checkpoints(), 1) / "model.safetensors")
    reporter = Reporter()
    again = run_item(recipe, window, reporter)
    assert again.as_json() == one.as_json()
    assert (reporter.progress.start_step, reporter.progress.step) == (1, 1), "no step is reported as lost"
    assert all(
        torch.equal(weights[name], value)
        for name, value in load_file(checkpoint_of(recipe.checkpoints(), 1) / "model.safetensors").items()
    )
    fit = load_fit(recipe, 1)
    assert fit.state.step == 1 and len(fit.state.history) == 1
    #: the random numbers go on where they were: a shuffle in the next step is another one
    assert not torch.equal(fit.random.get_state(), torch.Generator().manual_seed(recipe.spec.seed).get_state())


def test_a_fit_that_begins_again_keeps_no_checkpoint_of_before(planner, tmp_path):
    """Only the newest stay: those of the earlier job would be the newest."""
    from lumos_queue.training.rltf.work import prepare, run_item

    recipe = tiny_recipe(planner, tmp_path / "fit")
    prepare(recipe)
    for step in (1, 2, 3):
        run_item(recipe, {"do": "update", "step": step, "rollouts": gold_rollouts(REWARDS).as_json()})
    prepare(recipe)
    run_item(recipe, {"do": "update", "step": 1, "rollouts": gold_rollouts(REWARDS).as_json()})
    assert sorted(path.name for path in recipe.checkpoints().iterdir()) == ["step-000000", "step-000001"]


def test_an_adapter_learns_and_is_served_merged(planner, tmp_path):
    import torch
    from transformers import AutoTokenizer

    from lumos_queue.training.rltf.checkpoint import load_fit, load_policy
    from lumos_queue.training.rltf.work import prepare, run_item

    recipe = tiny_recipe(planner, tmp_path / "fit", lora=LoraShape(rank=4, alpha=8, dropout=0.0), rate=0.05)
    prepare(recipe)
    for step in (1, 2):
        run_item(recipe, {"do": "update", "step": step, "rollouts": gold_rollouts({20: 1.0, 110: -1.0}).as_json()})
    fit, served = load_fit(recipe, 2), load_policy(checkpoint_of(recipe.checkpoints(), 2))
    ids = AutoTokenizer.from_pretrained(planner)(planner_prompt(20), return_tensors="pt")["input_ids"]
    with torch.no_grad():
        merged, adapted, began = served(ids).logits, fit.policy(ids).logits, load_policy(planner)(ids).logits
    assert torch.allclose(merged, adapted, atol=1e-5) and not torch.allclose(merged, began, atol=1e-3)
    learnt = fit.state.history[1]
    assert learnt.kl > 0


def test_rewards_that_are_all_equal_are_told_of_and_do_no_harm(planner, tmp_path):
    from lumos_queue.training.rltf.work import prepare, run_item

    recipe = tiny_recipe(planner, tmp_path / "fit")
    prepare(recipe)
    for step in (1, 2):
        rollouts = gold_rollouts({20: 0.5, 110: 0.5}).as_json()
        done = run_item(recipe, {"do": "update", "step": step, "rollouts": rollouts})
        assert done.output["notes"] == ["all rewards are equal: nothing tells one plan from another"]
    assert done.steps[0].loss == pytest.approx(0.0, abs=1e-6)  # the baseline is what every reward is


def test_a_reward_that_is_no_number_is_refused(planner, tmp_path):
    from lumos_queue.training.rltf.work import prepare, run_item

    recipe = tiny_recipe(planner, tmp_path / "fit")
    prepare(recipe)
    for reward in (math.nan, math.inf):
        with pytest.raises(SpecError, match=r"The reward of episode 2 of job aaaaaaaa is (nan|inf)"):
            run_item(recipe, {"do": "update", "step": 1, "rollouts": gold_rollouts({20: 1.0, 30: reward}).as_json()})
    assert not checkpoint_of(recipe.checkpoints(), 1).exists()


def test_weights_that_are_no_numbers_pause_the_fit(planner, tmp_path):
    import torch
    from transformers import AutoTokenizer

    from lumos_queue.training.rltf.checkpoint import begin_fit, load_policy
    from lumos_queue.training.rltf.update import step_fit

    spec = RltfSpec()
    fit = begin_fit(spec, load_policy(planner))
    with torch.no_grad():
        fit.policy.get_input_embeddings().weight.fill_(math.nan)
    tokenizer = AutoTokenizer.from_pretrained(planner)
    with pytest.raises(DivergedFit, match="step 1: the loss is nan"):
        step_fit(fit, spec, 4, gold_rollouts(REWARDS), encoder(tokenizer), tokenizer.pad_token_id)


def test_rollouts_of_other_weights_are_refused(planner):
    from transformers import AutoTokenizer

    from lumos_queue.training.rltf.checkpoint import begin_fit, load_policy
    from lumos_queue.training.rltf.update import step_fit

    spec, tokenizer = RltfSpec(), AutoTokenizer.from_pretrained(planner)
    ask = gold_rollouts({20: 1.0}).episodes[0].asks[0]
    right = float(hand_written_logprob(load_policy(planner), tokenizer, ask))
    for logprob, is_right in ((right, True), (right + 3, False), (math.nan, False)):
        told = RolloutAsk(ask.prompt, ask.reply, True, ask.constraint, logprob)
        batch = RolloutBatch("aaaaaaaa", (RolloutEpisode((told,), 1.0),))
        fit = begin_fit(spec, load_policy(planner))
        if is_right:
            step_fit(fit, spec, 4, batch, encoder(tokenizer), tokenizer.pad_token_id)
        else:
            with pytest.raises(SpecError, match="The rollouts are not of this checkpoint"):
                step_fit(fit, spec, 4, batch, encoder(tokenizer), tokenizer.pad_token_id)


def test_a_checkpoint_of_another_registry_is_refused(planner, tmp_path):
    from lumos_queue.training.rltf.work import prepare, run_item

    recipe = tiny_recipe(planner, tmp_path / "fit")
    prepare(recipe)
    rollouts = gold_rollouts({20: 1.0})
    run_item(recipe, {"do": "update", "step": 1, "rollouts": rollouts.as_json()})
    fewer = rollouts.as_json()
    constraint = fewer["episodes"][0]["asks"][0]["constraint"]
    constraint["experts"] = [one for one in constraint["experts"] if one["name"] != "Text Generation"]
    with pytest.raises(SpecError, match="the registry has changed"):
        run_item(recipe, {"do": "update", "step": 2, "rollouts": fewer | {"job": "bbbbbbbb"}})


def test_a_plan_that_was_not_allowed_is_refused(planner):
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(planner)
    ask = gold_rollouts({20: 1.0}).episodes[0].asks[0]
    with pytest.raises(SpecError, match="is not one that was allowed"):
        encoder(tokenizer).encode(RolloutAsk(ask.prompt, "Colorization,Colorization,", True, ask.constraint))
