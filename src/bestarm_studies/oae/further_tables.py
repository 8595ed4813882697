"""Tables beyond the verdicts: these read under the open choices, and at other quantiles."""

from bestarm_studies.oae.horizons import write_quantiles
from bestarm_studies.oae.stands import write_stands

WRITE = (write_stands, write_quantiles)  # in this order, minutes in all
