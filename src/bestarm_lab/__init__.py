"""The workbench: experiments, rows, claims, figures and notebooks of studies."""
