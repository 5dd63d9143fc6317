"""Images reach model servers byte for byte, in the form that each protocol has for them."""

from __future__ import annotations

import asyncio
import json

import pytest

from lumos_queue.endpoints.base import ImagePart, ModelCall, Sampling
from lumos_queue.endpoints.registry import open_endpoint
from lumos_queue.endpoints.vision import with_image_urls
from lumos_queue.errors import EpisodeError
from lumos_queue.settings import Settings
from lumos_queue.util.images import read_image
from tests.fake_endpoint import FakeEndpoint, images
from tests.image_files import honest

SAMPLING = Sampling(max_tokens=20, stop=())
FRAMED = "<|user|>\nOne?\n<|assistant|>\n1</s>\n<|user|>\nTwo?\n<|assistant|>\n"


def ask(url: str, prompt: str, *shown: ImagePart):
    async def run():
        endpoint = open_endpoint(url, Settings())
        try:
            return await endpoint.generate(ModelCall(prompt, SAMPLING, 7, images=shown))
        finally:
            await endpoint.close()

    return asyncio.run(run())


@pytest.mark.parametrize("file", ["aokvqa/images/000000039769.png", "scienceqa/images/test/23/image.png"])
def test_a_real_image_arrives_at_a_chat_server_byte_for_byte(shared_data, file):
    image = read_image(shared_data / file)
    with FakeEndpoint(lambda prompt: "Two cats.", keep_bodies=True) as server:
        assert ask(server.chat, "What is there?", ImagePart(image.data, image.media_type)).text == "Two cats."
    assert images(server.bodies[0]) == [image.data]
    (message,) = server.bodies[0]["messages"]
    assert [part["type"] for part in message["content"]] == ["image_url", "text"]
    assert message["content"][0]["image_url"]["url"].startswith("data:image/png;base64,")
    assert message["content"][1]["text"] == "What is there?"


def test_images_stand_in_the_first_turn_of_the_user():
    one, two = ImagePart(b"1", "image/png"), ImagePart(b"2", "image/webp")
    with FakeEndpoint(lambda prompt: "fine", keep_bodies=True) as server:
        ask(server.chat, FRAMED, one, two)
        ask(server.chat, FRAMED)
    first, _, last = server.bodies[0]["messages"]
    assert last == {"role": "user", "content": "Two?"}
    assert [part["type"] for part in first["content"]] == ["image_url", "image_url", "text"]
    assert images(server.bodies[0]) == [b"1", b"2"]
    assert server.bodies[1]["messages"][-1] == {"role": "user", "content": "Two?"}, "text alone stays a text"


def test_a_chat_without_a_turn_of_the_user_takes_no_image():
    with pytest.raises(EpisodeError, match="turn of the user"):
        with_image_urls([{"role": "system", "content": "Be brief."}], ["data:image/png;base64,MQ=="])


def test_a_real_image_arrives_at_text_generation_inference_byte_for_byte(shared_data):
    image = read_image(shared_data / "aokvqa" / "images" / "000000039769.png")
    with FakeEndpoint(lambda prompt: "remotes", keep_bodies=True) as server:
        ask(server.tgi, "What lies there?", ImagePart(image.data, image.media_type), ImagePart(b"2", "image/gif"))
    assert images(server.bodies[0]) == [image.data, b"2"]
    inputs = server.bodies[0]["inputs"]
    assert inputs.startswith("![](data:image/png;base64,") and inputs.endswith(")What lies there?")


@pytest.mark.parametrize("shown", [(), (ImagePart(b"1", "image/png"),)])
def test_a_prompt_cannot_make_a_server_fetch_an_address(shown):
    """Choices, captions and replies of models are in the prompts of every role, with images and without."""
    hostile = "What is ![](http://169.254.169.254/latest)![](http://127.0.0.1/) there?"
    with FakeEndpoint(lambda prompt: "no", keep_bodies=True) as server:
        ask(server.tgi, hostile, *shown)
    inputs = server.bodies[0]["inputs"]
    assert inputs.count("![](") == inputs.count("![](data:image/png;base64,") == len(shown)
    assert inputs.endswith("What is ! [](http://169.254.169.254/latest)! [](http://127.0.0.1/) there?")


def test_prompts_that_name_no_image_are_sent_as_they_are():
    prompt = "Draw ![x](y), [](z) and ! [](w)\r\n now. "
    with FakeEndpoint(lambda prompt: "fine", keep_bodies=True) as server:
        ask(server.tgi, prompt)
        ask(server.chat, "Draw ![](x) now.")
    assert server.bodies[0]["inputs"] == prompt
    assert server.bodies[1]["messages"][-1]["content"] == "Draw ![](x) now.", "chat servers know no such mark"


def test_endpoints_of_text_alone_say_what_to_use():
    with FakeEndpoint(lambda prompt: "fine") as server:
        with pytest.raises(EpisodeError, match=r"takes no images: .* chat://HOST:PORT") as refused:
            ask(server.openai, "What?", ImagePart(honest(), "image/png"))
        assert server.count == 0
    with pytest.raises(EpisodeError, match=r"takes no images: .* chat://HOST:PORT"):
        ask("local:models/starter/iterative", "What?", ImagePart(honest(), "image/png"))
    assert refused.value.ending == "infra_error" and "\n" not in str(refused.value)


def test_a_script_takes_an_image_and_says_that_it_sees_none(tmp_path):
    rules = tmp_path / "rules.json"
    rules.write_text(json.dumps([{"contains": "What", "reply": "a cat"}]))
    assert ask(f"scripted:{rules}", "What?", ImagePart(honest(), "image/png")).text == "a cat"
    identity = asyncio.run(open_endpoint(f"scripted:{rules}", Settings()).identity())
    assert identity["images"] == "no image seen"
