"""The comparison with L2E: every row can be run, at both sizes, and says what was published."""

import pytest

from pxsgmcmc.cli.configs import load_config
from pxsgmcmc.meta.comparison import METHODS, paper_flags


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.label)
def test_every_method_has_a_configuration_of_both_sizes_that_differs_only_in_the_sampler(method):
    config, first = load_config(method.config), load_config(METHODS[0].config)
    assert config.data == first.data and config.model == first.model
    assert config.chain == first.chain and config.sampler.temperature == 0.01
    assert bool(config.expansion.out) == method.label.startswith("PX")
    paper = load_config(method.config, paper_flags(method))
    assert (paper.data.name, paper.chain.draws, paper.chain.cycle_length) == ("cifar10", 100, 5000)
    assert paper.data.augment and paper.sampler.temperature == 0.01


def test_the_published_values_are_those_of_the_paper():
    by_label = {method.label: method.published for method in METHODS}
    assert by_label["L2E"].error == ((0.071, 0.001), (0.268, 0.002), (0.488, 0.002))
    assert by_label["PX-SGHMC"].nll[1] == (1.030, 0.011)
    assert by_label["PX-L2E"] is None
