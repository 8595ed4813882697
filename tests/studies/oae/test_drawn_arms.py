"""Problems whose arms differ by replication."""

import pytest

from bestarm_studies.oae.drawn_arms import DrawnArms


def test_there_are_no_arms_without_replications():
    """The error names the law and what to call."""

    class Law(DrawnArms):
        label = "any law"

    with pytest.raises(ValueError, match=r"any law: arms differ by replication; call problem\.take"):
        _ = Law().arms
