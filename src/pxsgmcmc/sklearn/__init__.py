"""scikit-learn estimators: `PXClassifier` and `PXRegressor`."""

from pxsgmcmc.errors import UserError

try:
    import sklearn  # noqa: F401 - asked for here, so that the sentence comes before a traceback
except ModuleNotFoundError:
    raise UserError(
        "`pxsgmcmc.sklearn` needs scikit-learn, which is not installed; run "
        "`pip install 'pxsgmcmc[sklearn]'`."
    ) from None

from pxsgmcmc.sklearn.classifier import PXClassifier
from pxsgmcmc.sklearn.regressor import PXRegressor

__all__ = ["PXClassifier", "PXRegressor"]
