"""The claims of the paper, as statements that can be true or false, with their place in it.

What an experiment says of a claim is in its file, as `Part`s; what it takes for a verdict is in
`verdicts.py`. At a reduced size a claim is tested as a relation, never by a published value.
"""

from typing import NamedTuple


class Claim(NamedTuple):
    """A claim."""

    id: str
    text: str
    place: str


CLAIMS = {
    claim.id: claim
    for claim in (
        Claim("C1", "PX-SGHMC beats SGLD, pSGLD, SGHMC and SGNHT on the test set", "Table 1"),
        Claim("C2", "and under each natural shift and under corruption", "Table 1"),
        Claim(
            "C3",
            "of the baselines SGHMC and SGNHT are about equal, SGLD is behind, pSGLD last",
            "Table 1",
        ),
        Claim("C4", "PX-SGHMC tells out-of-distribution inputs best", "Table 2"),
        Claim("C5", "the gain stays with augmentation at T = 0.01, on three data sets", "Table 3"),
        Claim(
            "C6",
            "consecutive draws lie further apart the deeper the expansion, also relative to their "
            "length",
            "Figure of singular values, left",
        ),
        Claim(
            "C7",
            "the largest singular value grows, the smallest shrinks and the condition number grows "
            "with depth",
            "Figure of singular values, right",
        ),
        Claim("C8", "deeper expansion converges faster", "Figure of traces"),
        Claim(
            "C9",
            "ERR falls and AMB grows with depth; NLL is best at c = d = 1 and about equal at 2",
            "Table 4",
        ),
        Claim(
            "C10",
            "from an HMC state, PX-SGHMC moves and disagrees like HMC, SGHMC far less",
            "Table 5",
        ),
        Claim(
            "C11",
            "draws of PX-SGHMC and HMC are worse alone but better averaged than SGHMC's",
            "Table 5",
        ),
        Claim(
            "C12",
            "between consecutive draws PX-SGHMC crosses higher barriers than SGHMC, lower than HMC",
            "Figure of landscapes",
        ),
        Claim(
            "C13",
            "under corruption, best ERR, NLL and ECE at every severity; calibration gains most at "
            "high severity (the paper's own table contradicts it for ECE at severities 1 and 2)",
            "Table 6",
        ),
        Claim("C14", "no significant difference in speed and memory", "Table 7"),
        Claim(
            "C15",
            "low rank keeps the advantage over SGHMC; a quarter is about as good as full",
            "Table 8",
        ),
        Claim("C16", "PX-SGHMC needs less burn-in than SGHMC", "Figure of burn-in"),
        Claim("C17", "expansion contributes more than the cyclical schedule", "Table 9"),
        Claim("C18", "expansion works with a constant schedule too, there even better", "Table 9"),
        Claim(
            "C19",
            "PX-SGHMC beats SGHMC at every temperature, on every set",
            "Figure of cold posteriors",
        ),
        Claim(
            "C20",
            "GGMC: a larger peak step gives more distance, better ensembles and lower acceptance",
            "Figure of GGMC",
        ),
        Claim(
            "C21",
            "GGMC: at equal step expansion moves further without lower acceptance",
            "Figure of GGMC",
        ),
        Claim("C22", "PX-SGHMC is competitive with L2E without meta-training", "Table of L2E"),
        Claim(
            "C23",
            "the toy: expanded HMC covers the 25 modes, standard HMC is caught",
            "Figure of the toy",
        ),
        Claim(
            "C24",
            "friction on the factors much smaller than on the base keeps the trajectory stable (1 "
            "against 100, used without a search)",
            "Section 4",
        ),
        Claim("C25", "Lemma 3.1: expansion preconditions the gradient flow", "Section 3.2"),
        Claim("C26", "Theorem 3.2's bound, as printed", "Section 3.2"),
    )
}
