"""What the settings of `lumos web` must be, and what is said where they or its libraries are not."""

from __future__ import annotations

import pytest

from lumos_queue.cli.main import main
from lumos_queue.errors import SpecError
from lumos_queue.web.access.login_methods import MIN_TOKEN, TokenLogin


def test_a_token_that_is_given_is_the_one_that_comes_in_and_none_that_could_be_guessed():
    assert (person := TokenLogin("ann", "t" * MIN_TOKEN).admit("", "t" * MIN_TOKEN)) and person.name == "ann"
    assert TokenLogin("ann", "t" * MIN_TOKEN).admit("", "t" * (MIN_TOKEN + 1)) is None
    assert TokenLogin("ann").token != TokenLogin("ann").token
    for weak in ("a", "t" * (MIN_TOKEN - 1), "with a space in its middle", "ünicode-and-long-enough"):
        with pytest.raises(SpecError, match="LUMOS_WEB_TOKEN needs"):
            TokenLogin("ann", weak)


@pytest.mark.parametrize("name", ["LUMOS_WEB_URL", "LUMOS_FLOWER_URL"])
@pytest.mark.parametrize("url", ["javascript:alert(1)", "127.0.0.1:8642", "http://", "file:///etc/passwd"])
def test_an_address_that_is_no_page_is_refused_before_it_becomes_a_link(monkeypatch, capsys, tmp_path, name, url):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    monkeypatch.setenv(name, url)
    assert main(["jobs"]) == 2
    assert f"{name} is '{url}'" in " ".join(capsys.readouterr().err.split())


def test_without_its_libraries_the_command_says_what_to_install(monkeypatch, capsys, tmp_path):
    monkeypatch.setenv("LUMOS_HOME", str(tmp_path))
    monkeypatch.setattr("lumos_queue.models.folders.WEB_LIBRARIES", ("no_such_library",))
    assert main(["web", "--port", "0"]) == 2
    told = " ".join(capsys.readouterr().err.split())
    assert "This needs no_such_library: pip install" in told and "[web]" in told
