"""Commands that train models: each stores a training job. Training runs in windows of optimizer steps, and can be
resumed after each window.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from lumos_queue.cli import options as opt
from lumos_queue.cli import output
from lumos_queue.cli.request_command import takes_request
from lumos_queue.cli.submit import submit_and_finish
from lumos_queue.cli.submit_command import takes_submit_options
from lumos_queue.submission.requests.training import ExpertsRequest, RltfRequest, SftRequest, StarterRequest
from lumos_queue.submission.submit_options import SubmitOptions

if TYPE_CHECKING:
    from lumos_queue.deployment.deployment import Deployment
    from lumos_queue.training.recipes.base import Recipe


@takes_request(SftRequest)
@takes_submit_options(concurrency=False)
def train_sft(
    request: SftRequest,
    *,
    options: SubmitOptions,
    follow: bool,
    json: opt.Json = False,
) -> None:
    """Train on builds."""
    from lumos_queue.cli.deployment import open_deployment
    from lumos_queue.submission.training_request import make_sft

    deployment = open_deployment()
    recipe = make_sft(request, deployment)
    _submit(deployment, recipe, options, follow)


@takes_request(StarterRequest)
@takes_submit_options(concurrency=False)
def train_starter(
    request: StarterRequest,
    *,
    options: SubmitOptions,
    follow: bool,
    json: opt.Json = False,
) -> None:
    """Train the models that come with the project."""
    from lumos_queue.cli.deployment import open_deployment
    from lumos_queue.submission.training_request import make_starter

    deployment = open_deployment()
    recipe = make_starter(request, deployment.settings)
    _submit(deployment, recipe, options, follow)


@takes_request(ExpertsRequest)
@takes_submit_options(concurrency=False)
def train_experts(
    request: ExpertsRequest,
    *,
    options: SubmitOptions,
    follow: bool,
    json: opt.Json = False,
) -> None:
    """Train small networks as experts.

    Trains them one after the other. Use them with --tool experts=own:FOLDER.
    """
    from lumos_queue.cli.deployment import open_deployment
    from lumos_queue.submission.training_request import make_experts

    deployment = open_deployment()
    recipe = make_experts(request, deployment.settings)
    _submit(deployment, recipe, options, follow)


@takes_request(RltfRequest)
@takes_submit_options(concurrency=False)
def train_rltf(
    request: RltfRequest,
    *,
    options: SubmitOptions,
    follow: bool,
    json: opt.Json = False,
) -> None:
    """Train a model on the rewards of its attempts.

    Each optimizer step evaluates the newest checkpoint on a batch of tasks in a separate job, which `lumos jobs` lists.
    """
    from lumos_queue.cli.deployment import open_deployment
    from lumos_queue.submission.rltf_request import make_rltf_job

    deployment = open_deployment()
    job, rows = make_rltf_job(request, deployment, output.say)
    submit_and_finish(deployment, job, rows, options, windows=len(job.windows()), follow=follow)


def _submit(deployment: Deployment, recipe: Recipe, options: SubmitOptions, follow: bool) -> None:
    from lumos_queue.jobs.train import Train

    job = Train(recipe)
    submit_and_finish(deployment, job, None, options, windows=len(job.windows()), follow=follow)
