"""Which models a visitor may load."""

from __future__ import annotations

import pytest

from dashboard.jobs.hub import PairSpec
from dashboard.visitor.options import Options

PATHS = [
    "/etc",
    "../models",
    "~/models",
    ".",
    "a/b/c",
    "a/../b",
    "models/",
    "model.gguf/",
    "tests/apps",
    "C:\\x",
]


@pytest.mark.parametrize("name", PATHS)
@pytest.mark.parametrize("any_model", [False, True])
def test_no_visitor_can_name_a_path(name, any_model):
    with pytest.raises(ValueError, match="a model must be one that this server offers"):
        Options(any_model=any_model).check(PairSpec(target=name))


def test_the_list_of_a_workshop_is_all_there_is():
    options = Options(models=("org/target", "org/draft"))
    options.check(PairSpec())
    options.check(PairSpec(target="org/target", draft="org/draft"))
    with pytest.raises(ValueError, match="org/target, org/draft"):
        options.check(PairSpec(target="org/other"))


def test_a_path_given_at_the_start_is_offered():
    pair = PairSpec(target="/models/target", draft="/models/draft")
    options = Options(pair=pair)
    options.check(pair)
    assert options.offered == ("/models/target", "/models/draft")


def test_at_home_any_hub_name_goes():
    Options(any_model=True).check(PairSpec(target="Qwen/Qwen3-0.6B"))
    Options(any_model=True).check(PairSpec(target="gpt2"))


@pytest.mark.parametrize("spec", [{"draft": "gpt2"}, {"device": "meta; rm"}, {"dtype": "float32()"}])
def test_what_cannot_be_loaded_is_refused_before(spec):
    with pytest.raises(ValueError, match="must be|needs"):
        Options(any_model=True).check(PairSpec(**spec))
