"""DetD on bicycle hires and on fitted responses."""

from bestarm_studies.oae.experiments import on_bikes, on_fitted
from bestarm_studies.oae.series import CUT, DIVERSE, LEARNING_RATE, MIDDLE, SMALL

EXPERIMENTS = {
    "bikes_diverse": on_bikes("Bicycles, NN 100-10, DetD", MIDDLE, DIVERSE),
    "fitted_diverse_10_5": on_fitted(
        "Fitted responses, NN 10-5, DetD", SMALL, DIVERSE, names=["BikeSharingDay", "Adult"], scale={}
    ),
    "fitted_diverse": on_fitted(
        "Fitted responses, NN 100-10, DetD",
        MIDDLE,
        DIVERSE,
        names=["BikeSharingHour", "Bank"],
        scale={"rounds": 30, **CUT},
        learning_rate=LEARNING_RATE[MIDDLE],
    ),
}
