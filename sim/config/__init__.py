"""Hardware configurations: frozen, validated, with units in the names, and shipped presets."""

from sim.config.base import Config, ConfigError
from sim.config.cae import CaeConfig
from sim.config.dram import DramConfig, DramCurrents, DramEnergy, DramGates, DramTiming
from sim.config.load import dram_preset_names, flash_preset_names, load_config, preset_names
from sim.config.nme import Element, NmeConfig
from sim.config.ssd import FlashConfig, SsdConfig
from sim.config.system import ComputeEnergy, PartitionConfig, SystemConfig

__all__ = [
    "CaeConfig",
    "ComputeEnergy",
    "Config",
    "ConfigError",
    "DramConfig",
    "DramCurrents",
    "DramEnergy",
    "DramGates",
    "DramTiming",
    "Element",
    "FlashConfig",
    "NmeConfig",
    "PartitionConfig",
    "SsdConfig",
    "SystemConfig",
    "dram_preset_names",
    "flash_preset_names",
    "load_config",
    "preset_names",
]
