"""What loads the images of a job from its database."""

from __future__ import annotations

import asyncio
import time

import pytest

from db.journal.artifacts import store_artifact
from lumos_queue.deployment import deployment as deployment_module
from lumos_queue.deployment.deployment import Deployment
from lumos_queue.errors import EpisodeError
from lumos_queue.jobs import images
from lumos_queue.settings import Settings


def test_images_that_are_loaded_at_once_come_from_one_connection_pool(database, monkeypatch):
    data = [bytes([at]) for at in range(8)]
    with database.writer.begin() as connection:
        digests = [store_artifact(connection, one, "image/png") for one in data]
    opened, really = [], deployment_module.open_database

    def slowly(*arguments):
        time.sleep(0.1)  # long enough for every thread to come by
        opened.append(really(*arguments))
        return opened[-1]

    monkeypatch.setattr(deployment_module, "open_database", slowly)

    async def load_all():
        return await asyncio.gather(*map(loader.load, digests))

    with Deployment(Settings(database_url=database.url)) as deployment:
        loader = images.Images(deployment)
        assert [one.data for one in asyncio.run(load_all())] == data
        with pytest.raises(EpisodeError, match="holds no image 00"):
            asyncio.run(loader.load("0" * 64))
    assert len(opened) == 1
