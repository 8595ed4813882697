"""The device on which networks are computed."""

from bestarm.models.torch_or_numpy import torch


def check_device(device: str) -> None:
    """Refuse a GPU that is not there.

    Raises ValueError if the device is not the processor and Torch finds no GPU."""
    if device != "cpu" and not torch.cuda.is_available():
        raise ValueError(f"device is {device!r}, but Torch finds no GPU here; set device to 'cpu'.")
