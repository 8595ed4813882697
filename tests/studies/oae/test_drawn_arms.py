"""Problems whose arms differ by replication."""

from refusals import refuses

from bestarm_studies.oae.drawn_arms import DrawnArms


def test_there_are_no_arms_without_replications():
    """The error names the law and what to call."""

    class Law(DrawnArms):
        label = "any law"

    refuses(lambda: Law().arms, r"any law: arms differ by replication; call problem\.take")
