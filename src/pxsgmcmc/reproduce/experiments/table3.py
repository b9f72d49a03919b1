"""Table 3: augmentation at T = 0.01, on several data sets."""

from pxsgmcmc.reproduce.experiment import ClaimPart, Experiment, TableSpec
from pxsgmcmc.reproduce.experiments import chains_of_table3 as chains
from pxsgmcmc.reproduce.methods import BASELINES

EXPERIMENT = Experiment(
    name="table3",
    title="Table 3: augmentation at T = 0.01",
    about="Random crops, and where images have mirror images also flips, at a temperature of 0.01, "
    "with the settings of Table 1.",
    arms=chains.arms,
    tables=lambda scale: [TableSpec("Augmented, T = 0.01", ("test/err", "test/nll", "test/amb"))],
    published=chains.published(chains.ERR, chains.NLL),
    claims=lambda scale: {
        "C5": [
            ClaimPart(measure, px, "below", other)
            for measure, px, other in chains.compared("PX-SGHMC", BASELINES, scale)
        ]
    },
    remarks=(chains.REMARK,),
)
