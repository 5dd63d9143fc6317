"""Commands that train models: each stores a training job. Training runs in windows of optimizer steps, and can be
resumed after each window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.request_command import takes_request
from lumos_queue.cli.submit import submit_and_finish
from lumos_queue.jobs.scheduling import Scheduling
from lumos_queue.submission.requests.training import ExpertsRequest, RltfRequest, SftRequest, StarterRequest

if TYPE_CHECKING:
    from db.queue.tags import NameAndTags
    from lumos_queue.deployment.deployment import Deployment
    from lumos_queue.training.recipes.base import Recipe


@takes_request(SftRequest)
def train_sft(
    request: SftRequest,
    *,
    name: opt.Name = "",
    tag: opt.Tags = [],
    again: opt.Again = False,
    follow: opt.Follow = False,
    priority: opt.Priority = 0,
    json: opt.Json = False,
) -> None:
    """Train on builds."""
    from lumos_queue.cli.deployment import open_deployment
    from lumos_queue.submission.tags import read_name_and_tags
    from lumos_queue.submission.training_request import make_sft

    deployment, name_and_tags = open_deployment(), read_name_and_tags(name, tag)
    recipe = make_sft(request, deployment)
    _submit(
        deployment, recipe, name_and_tags=name_and_tags, scheduling=Scheduling(priority), again=again, follow=follow
    )


@takes_request(StarterRequest)
def train_starter(
    request: StarterRequest,
    *,
    name: opt.Name = "",
    tag: opt.Tags = [],
    again: opt.Again = False,
    follow: opt.Follow = False,
    priority: opt.Priority = 0,
    json: opt.Json = False,
) -> None:
    """Train the models that come with the project."""
    from lumos_queue.cli.deployment import open_deployment
    from lumos_queue.submission.tags import read_name_and_tags
    from lumos_queue.submission.training_request import make_starter

    deployment, name_and_tags = open_deployment(), read_name_and_tags(name, tag)
    recipe = make_starter(request, deployment.settings)
    _submit(
        deployment, recipe, name_and_tags=name_and_tags, scheduling=Scheduling(priority), again=again, follow=follow
    )


@takes_request(ExpertsRequest)
def train_experts(
    request: ExpertsRequest,
    *,
    name: opt.Name = "",
    tag: opt.Tags = [],
    again: opt.Again = False,
    follow: opt.Follow = False,
    priority: opt.Priority = 0,
    json: opt.Json = False,
) -> None:
    """Train small networks as experts.

    Trains them one after the other. Use them with --tool experts=own:FOLDER.
    """
    from lumos_queue.cli.deployment import open_deployment
    from lumos_queue.submission.tags import read_name_and_tags
    from lumos_queue.submission.training_request import make_experts

    deployment, name_and_tags = open_deployment(), read_name_and_tags(name, tag)
    recipe = make_experts(request, deployment.settings)
    _submit(
        deployment, recipe, name_and_tags=name_and_tags, scheduling=Scheduling(priority), again=again, follow=follow
    )


@takes_request(RltfRequest)
def train_rltf(
    request: RltfRequest,
    *,
    name: opt.Name = "",
    tag: opt.Tags = [],
    again: opt.Again = False,
    follow: opt.Follow = False,
    priority: opt.Priority = 0,
    json: opt.Json = False,
) -> None:
    """Train a model on the rewards of its attempts.

    Each optimizer step evaluates the newest checkpoint on a batch of tasks in a separate job, which `lumos jobs` lists.
    """
    from lumos_queue.cli.deployment import open_deployment
    from lumos_queue.submission.rltf_request import make_rltf_job
    from lumos_queue.submission.tags import read_name_and_tags

    deployment, name_and_tags = open_deployment(), read_name_and_tags(name, tag)
    job, rows = make_rltf_job(request, deployment, output.say)
    submit_and_finish(
        deployment,
        job,
        rows,
        name_and_tags=name_and_tags,
        windows=len(job.windows()),
        scheduling=Scheduling(priority),
        again=again,
        follow=follow,
    )


def _submit(
    deployment: Deployment,
    recipe: Recipe,
    *,
    name_and_tags: NameAndTags,
    scheduling: Scheduling,
    again: bool,
    follow: bool,
) -> None:
    from lumos_queue.jobs.train import Train

    job = Train(recipe)
    submit_and_finish(
        deployment,
        job,
        None,
        name_and_tags=name_and_tags,
        windows=len(job.windows()),
        scheduling=scheduling,
        again=again,
        follow=follow,
    )
