"""Which plug-ins there are, which may be imported, which code each is, and what is said of those that do not work."""

from __future__ import annotations

import sys

import pytest

from lumos_queue.cli.plugin_list import list_plugins
from lumos_queue.endpoints.registry import check_url
from lumos_queue.errors import SpecError
from lumos_queue.util import plugins
from lumos_queue.util.plugins import TrustedModules, digest_of, entry_points_of, load_plugin
from lumos_queue.util.registry import Registry
from tests.plugin_packages import write_distribution

WIDGETS = "small, big = [1], [2]\n"


@pytest.fixture
def site(tmp_path, monkeypatch):
    """A folder on the path for installed packages, and for modules that are not installed."""
    folder = tmp_path / "site"
    folder.mkdir()
    before = set(sys.modules)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.setattr(plugins, "TRUSTED", TrustedModules())
    monkeypatch.setattr("lumos_queue.util.registry.TRUSTED", plugins.TRUSTED)
    entry_points_of.cache_clear()
    yield folder
    entry_points_of.cache_clear()
    for name in set(sys.modules) - before:
        if name.startswith(("mylab", "theirs")):
            del sys.modules[name]


@pytest.fixture
def registry():
    return Registry("widget", {"built": "tests.unit.test_plugins:BUILT"}, "scorers", list)


BUILT = ["built in"]


def install(site, name="mylab-things", version="1.0", text=WIDGETS, module="mylab", **names):
    points = names or {"small": f"{module}.widgets:small"}
    files = {f"{module}/__init__.py": "", f"{module}/widgets.py": text}
    write_distribution(site, name, files, {"scorers": points}, version)


def test_an_entry_point_is_found_by_its_name_and_says_which_code_it_is(site, registry):
    install(site)
    assert registry.names == ("built", "small") and "small" in registry and "mylab.widgets" not in sys.modules
    assert registry.load("small") == [1]
    plugin = registry.plugin("small")
    assert (plugin.group, plugin.name, plugin.distribution, plugin.version) == (
        "scorers",
        "small",
        "mylab-things",
        "1.0",
    )
    assert len(plugin.digest) == 16 and str(plugin) == f"mylab-things 1.0, code {plugin.digest[:8]}"
    assert registry.plugin("built") is None


def test_a_line_changed_in_any_file_of_the_package_is_other_code(site):
    install(site)
    before = digest_of("mylab.widgets")
    (site / "mylab" / "helper.py").write_text("x = 1\n")
    after = digest_of("mylab.widgets")
    (site / "mylab" / "__pycache__").mkdir()
    (site / "mylab" / "__pycache__" / "helper.pyc").write_text("compiled")
    (site / "mylab" / ".pytest_cache").mkdir()
    (site / "mylab" / ".pytest_cache" / "lastfailed").write_text("{}")
    assert before != after == digest_of("mylab")


@pytest.mark.parametrize("path", ["prompt.txt", "inner/rules.py", "inner/deep/words.json"])
def test_any_file_at_any_depth_and_its_name_are_part_of_the_code(site, path):
    install(site)
    file = site / "mylab" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("one")
    before = digest_of("mylab.widgets")
    file.write_text("two")
    changed = digest_of("mylab.widgets")
    file.rename(file.with_name("renamed"))
    assert len({before, changed, digest_of("mylab.widgets")}) == 3


def test_a_module_alone_and_a_package_in_a_namespace_have_a_digest(site):
    (site / "mylab_alone.py").write_text("x = 1\n")
    (site / "mylab_other.py").write_text("x = 2\n")
    assert digest_of("mylab_alone") != digest_of("mylab_other")
    (site / "mylab_shared" / "inner").mkdir(parents=True)
    (site / "mylab_shared" / "inner" / "__init__.py").write_text("y = 1\n")
    before = digest_of("mylab_shared.inner")
    (site / "mylab_shared" / "neighbour").mkdir()
    (site / "mylab_shared" / "neighbour" / "__init__.py").write_text("z = 1\n")
    assert digest_of("mylab_shared.inner") == before


def test_a_built_in_name_means_the_built_in_object(site, registry):
    install(site, built="mylab.widgets:small")
    assert registry.load("built") == BUILT and "mylab.widgets" not in sys.modules
    assert registry.names == ("built",) and registry.plugin_names == () and registry.plugin("built") is None


def test_a_name_that_two_distributions_use_is_refused_and_others_are_not(site, registry):
    install(site, small="mylab.widgets:small", big="mylab.widgets:big")
    install(site, name="their-things", version="2", module="theirs")
    with pytest.raises(
        SpecError,
        match=r"^The widget 'small' is defined by mylab-things 1\.0 and their-things 2: uninstall all of them but one",
    ):
        registry.load("small")
    assert registry.load("big") == [2]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("raise RuntimeError('no licence\\nfile')", r"RuntimeError: no licence file\.$"),
        ("import sys; sys.exit(3)", r"SystemExit: 3\.$"),
        ("import no_such_module", r"ModuleNotFoundError: No module named 'no_such_module'\.$"),
        ("big = 1", r"AttributeError: .* has no attribute 'small'\.$"),
        ("small = 3", r"is an object of int: expected an object of list\."),
    ],
)
def test_one_that_does_not_work_is_told_of_in_one_line(site, registry, text, told):
    install(site, text=text)
    with pytest.raises(SpecError, match=told) as caught:
        registry.load("small")
    assert "\n" not in str(caught.value) and "widget 'small'" in str(caught.value)
    assert registry.find("small") is None


def test_a_dotted_name_is_imported_only_if_it_is_listed_or_given(site, registry):
    (site / "mylab_own.py").write_text("raise SystemError('imported')\n")
    with pytest.raises(SpecError, match=r"does not trust\. If you trust the code.*LUMOS_PLUGINS=mylab_own,"):
        registry.load("mylab_own:widget")
    assert "mylab_own" not in sys.modules and "mylab_own:widget" not in registry
    (site / "mylab_own.py").write_text(WIDGETS)
    plugins.TRUSTED.add_named("mylab_own:small", "gsm8k", "tgi://host:1", "")
    assert registry.load("mylab_own:small") == [1] and registry.plugin("mylab_own:small").distribution == ""
    with pytest.raises(SpecError, match="does not trust"):
        registry.load("os:system")


def test_a_module_that_is_not_found_is_told_of_with_where_to_list_its_folder(site, registry):
    hint = r"No module named '.*'\. If a file defines the module, list the file's folder; .*: LUMOS_PLUGINS=\.$"
    (site / "mylab_needs.py").write_text("import no_such_library\n")
    plugins.TRUSTED.add_named("mylab_nowhere.models:reply", "mylab_needs:reply")
    with pytest.raises(SpecError, match=hint):
        registry.load("mylab_nowhere.models:reply")
    with pytest.raises(SpecError, match=r"No module named 'no_such_library'\.$"):  # its own need, not a folder of ours
        registry.load("mylab_needs:reply")


def test_an_object_of_an_installed_package_says_its_distribution_also_under_a_dotted_name(site, registry):
    install(site, version="1.5")
    (site / "mylab_things-1.5.dist-info" / "top_level.txt").write_text("mylab\n")
    plugins.TRUSTED.add_named("mylab.widgets:big")
    assert str(registry.plugin("mylab.widgets:big")).startswith("mylab-things 1.5, code ")


def test_the_function_of_an_address_that_a_person_gives_is_trusted():
    trusted = TrustedModules()
    trusted.add_named("function:mylab.models:reply")
    assert trusted.has("mylab.models") and not trusted.has("mylab") and trusted.as_setting() == "mylab.models"


def test_a_mistyped_module_is_left_out_of_what_to_list(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "mylab_here.py").write_text("")
    trusted = TrustedModules()
    trusted.add_named("mylab_nowhere:reply", "mylab_here.inner:reply", "mylab_here:reply")
    assert trusted.list_for_setting() == [str(tmp_path)] * 2


def test_what_one_process_trusts_is_told_to_another(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "mylab_told.py").write_text(WIDGETS)
    one, other = TrustedModules(), TrustedModules()
    monkeypatch.chdir(tmp_path)
    one.add_listed("theirs,./own")
    one.add_named("mylab.tasks:benchmark")
    monkeypatch.chdir("/")  # it may work in another folder
    other.add_listed(one.as_setting())
    for module in ("theirs", "mylab.tasks", "mylab_told"):
        assert other.has(module)
    assert not other.has("mylab") and other.as_setting() == one.as_setting()


def test_a_listed_module_lets_in_what_is_inside_it_and_nothing_else(site):
    trusted = TrustedModules()
    trusted.add_listed(" mylab.tasks , theirs")
    assert trusted.has("mylab.tasks") and trusted.has("mylab.tasks.maths") and trusted.has("theirs")
    assert not trusted.has("mylab") and not trusted.has("mylab.tasks2") and not trusted.has("os")


def test_a_listed_folder_lets_in_its_modules_and_is_searched_last(site, tmp_path, registry, monkeypatch):
    folder = tmp_path / "own"
    folder.mkdir()
    (folder / "mylab_folder.py").write_text(WIDGETS)
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setenv("LUMOS_LAUNCH_FOLDER", str(tmp_path))
    plugins.TRUSTED.add_listed(str(folder))
    plugins.TRUSTED.add_listed("./own")  # the same one, from another current folder
    assert registry.load("mylab_folder:big") == [2]
    assert sys.path[-1] == str(folder) and sys.path.count(str(folder)) == 1
    assert not plugins.TRUSTED.has("os")


@pytest.mark.parametrize(
    ("listed", "told"),
    [
        ("/no/such/folder", "LUMOS_PLUGINS names the folder '/no/such/folder', which does not exist"),
        ("mylab.tasks:object", "LUMOS_PLUGINS has 'mylab.tasks:object': expected modules"),
        ("a b", "LUMOS_PLUGINS has 'a b'"),
    ],
)
def test_a_setting_that_cannot_be_read_is_told_of(listed, told):
    with pytest.raises(SpecError, match=told):
        TrustedModules().add_listed(listed)


def test_what_only_another_process_has_is_told_of(registry):
    assert registry.knows("__main__:mine") and registry.knows("__main__:not a name") and not registry.knows("mine")
    for name in ("__main__:mine", "__main__:not a name"):
        with pytest.raises(SpecError, match="exists only in the process that defined it"):
            registry.load(name)
    with pytest.raises(SpecError, match=r"The widget '__main__:mine' is an object of int: expected an object of list"):
        registry.add("__main__:mine", 7, "ab")
    assert "__main__:mine" not in registry
    registry.add("__main__:mine", [7], "ab")
    assert registry.load("__main__:mine") == [7] and registry.plugin("__main__:mine").digest == "ab"


def test_an_unknown_name_lists_built_in_ones_plug_ins_and_the_dotted_form(site, registry):
    install(site)
    with pytest.raises(SpecError, match=r"No widget called 'smal'.*built, package\.module:object, small"):
        registry.load("smal")
    module = r"^No widget called 'mylab\.widgets'\. If it is a module, name an object in .*: mylab\.widgets:OBJECT\.$"
    with pytest.raises(SpecError, match=module):
        registry.load("mylab.widgets")


def test_what_a_person_named_is_told_with_the_folders_that_another_process_needs(site):
    trusted = TrustedModules()
    (site / "mylab_package").mkdir()
    (site / "mylab_package" / "__init__.py").write_text("")
    (site / "mylab_package" / "models.py").write_text("def reply(prompt): ...\n")
    (site / "mylab_alone.py").write_text(WIDGETS)
    assert trusted.list_for_setting() == []
    trusted.add_named("__main__:mine")  # no other process has it
    assert trusted.list_for_setting() == [] and not trusted.has("__main__")
    trusted.add_named("function:mylab_package.models:reply", "mylab_alone:small")
    assert set(trusted.list_for_setting()) == {str(site)}
    trusted = TrustedModules()
    trusted.add_named("pytest:fail")  # an installed module: its folder has all that is installed
    assert trusted.list_for_setting() == ["pytest"]
    other = TrustedModules()
    other.add_listed("mylab_alone")
    other.add_named("mylab_alone:small")  # the settings name it already
    assert other.list_for_setting() == []


def test_the_list_of_plug_ins_names_what_is_wrong_with_each(site):
    good = "from lumos_queue.review.scorers.base import Scorer\ngood = Scorer('good', len)\n"
    files = {"mylab/__init__.py": "", "mylab/bad.py": "raise ValueError('broken')", "mylab/good.py": good}
    points = {"good": "mylab.good:good", "bad": "mylab.bad:bad", "same_words": "mylab.good:good"}
    write_distribution(site, "mylab-things", files, {"scorers": points})
    found = {one["name"]: one for one in list_plugins() if one["distribution"] == "mylab-things"}
    assert found["good"]["problem"] == "" and len(found["good"]["digest"]) == 16
    assert "ValueError: broken" in found["bad"]["problem"]
    assert "is built in" in found["same_words"]["problem"]


def test_an_endpoint_scheme_whose_name_begins_no_address_is_told_of(site):
    files = {"mylab/__init__.py": "import lumos_queue as lq\nECHO = lq.EndpointScheme(lq.SimpleEndpoint)\n"}
    points = {"my_scheme": "mylab:ECHO", "my-scheme": "mylab:ECHO"}
    write_distribution(site, "mylab-things", files, {"endpoints": points})
    found = {one["name"]: one["problem"] for one in list_plugins() if one["distribution"] == "mylab-things"}
    assert found["my-scheme"] == "" and found["my_scheme"].startswith("no address can begin with 'my_scheme'")
    check_url("my-scheme:x")
    with pytest.raises(SpecError, match=r"choose a scheme: chat, .*my-scheme"):
        check_url("my_scheme:x")


def test_loading_a_plug_in_digests_it_before_it_is_imported(site):
    """A process that runs for days must say which code it has imported, not which code there is now."""
    text = "import pathlib\npathlib.Path(__file__).write_text('changed = 1')\nsmall = [1]\n"
    install(site, text=text)
    before = digest_of("mylab")
    assert load_plugin("scorers", "widget", "small").plugin.digest == before != digest_of("mylab")
