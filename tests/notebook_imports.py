"""What notebooks import, for the process that their kernels are forked from."""

import ipykernel.kernelapp  # noqa: F401

import bestarm_lab.notebooks.section  # noqa: F401
from bestarm_lab.study import load_study
from bestarm_lab.study_packages import study_names

for _name in study_names():
    load_study(_name)
