"""Tables beyond the verdicts: these read under the open choices, at other quantiles, and from biases of zero."""

from bestarm_studies.oae.horizons import write_quantiles
from bestarm_studies.oae.initial_biases import write_biases
from bestarm_studies.oae.stands import write_stands

WRITE = (write_stands, write_quantiles, write_biases)  # in this order, minutes in all
