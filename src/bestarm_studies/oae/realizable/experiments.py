"""Searches of tables whose response is a fit of the class that searches."""

from bestarm_studies.oae.experiments import on_fitted
from bestarm_studies.oae.series import CUT, ENSEMBLES, LEARNING_RATE, MANY_RUNS, MIDDLE, SMALL

# each run has a teacher of its own, fitted with the step size of the class
EXPERIMENTS = {
    "fitted_10_5": on_fitted(
        "Fitted responses, NN 10-5", SMALL, ENSEMBLES, names=["BikeSharingDay", "Adult"], scale={"runs": MANY_RUNS}
    ),
    "fitted_100_10": on_fitted(
        "Fitted responses, NN 100-10",
        MIDDLE,
        ENSEMBLES,
        names=["BikeSharingHour", "Bank"],
        scale={"rounds": 30, **CUT},
        learning_rate=LEARNING_RATE[MIDDLE],
    ),
}
