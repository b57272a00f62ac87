"""Sampling engines with the shipped flash devices behind them, for the benches."""

import tomllib
from importlib import resources

from sim.config import FlashConfig, SsdConfig
from testbenches.ssd.configs import SMALL

CLOCKS = {"cosmos": 100_000_000, "mqsim": 166_500_000, "ull": 100_000_000}
"""Clock of the engine, in Hz: a whole number of cycles for a beat of the flash."""

PAGE_SLOTS = 4096


def with_flash(name: str) -> SsdConfig:
    """Return an engine with a shipped flash and many page slots.

    Parameters
    ----------
    name : str
        Name of the flash.

    Returns
    -------
    SsdConfig
    """
    text = resources.files("sim.config.presets.flash").joinpath(f"{name}.toml").read_text("utf-8")
    return SMALL.replace(clock_hz=CLOCKS[name], flash=FlashConfig(**tomllib.loads(text)), page_slots=PAGE_SLOTS)
