"""Problems whose arms differ by replication."""

from typing import TYPE_CHECKING

from bestarm.interface import Arms


class DrawnArms:
    """A problem whose arms are drawn anew for each replication; a subclass draws them in ``take``."""

    if TYPE_CHECKING:

        @property
        def label(self) -> str:
            """Name of the law; a field or a property of the subclass."""

    @property
    def arms(self) -> Arms:
        """Refuse: which arms there are depends on the replication."""
        raise ValueError(f"{self.label}: arms differ by replication; call problem.take(streams.replications) first.")
