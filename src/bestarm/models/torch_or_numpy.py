"""Torch, or what searches without networks need of it where it is not installed, under the name ``torch``."""

from importlib.util import find_spec
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch
elif find_spec("torch") is None:
    from bestarm.models import without_torch as torch
else:
    import torch


def check_device(device: str) -> None:
    """Refuse a device that is not the processor where Torch finds no GPU."""
    if device != "cpu" and not torch.cuda.is_available():
        raise ValueError(f"device is {device!r}, but Torch finds no GPU here; set device to 'cpu'.")
