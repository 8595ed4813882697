"""Figures of studies are drawn in the project's style, whichever test comes first."""

import pytest

from bestarm_lab.figures.styles import use_style


@pytest.fixture(autouse=True, scope="module")
def style() -> None:
    """Set the style, as a notebook's `Section` does."""
    use_style()
