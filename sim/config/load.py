"""Read a configuration from a shipped preset or a TOML file, with a shipped memory and flash."""

import difflib
import tomllib
from collections.abc import Iterable
from importlib import resources
from pathlib import Path
from typing import Any

from sim.config.base import ConfigError
from sim.config.system import SystemConfig

_SYSTEMS = "sim.config.presets"
_MEMORIES = "sim.config.presets.dram"
_FLASHES = "sim.config.presets.flash"


def _names(package: str) -> list[str]:
    files = (entry.name for entry in resources.files(package).iterdir())
    return sorted(name.removesuffix(".toml") for name in files if name.endswith(".toml"))


def preset_names() -> list[str]:
    """Return the names of the shipped presets, sorted."""
    return _names(_SYSTEMS)


def dram_preset_names() -> list[str]:
    """Return the names of the shipped memories, sorted."""
    return _names(_MEMORIES)


def flash_preset_names() -> list[str]:
    """Return the names of the shipped flash devices, sorted."""
    return _names(_FLASHES)


def _unknown(what: str, name: str, names: Iterable[str], more: str = "") -> ConfigError:
    near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
    hint = f"did you mean {near[0]!r}? " if near else ""
    return ConfigError([f"{what} {name!r} is not known; {hint}the presets are {', '.join(names)}{more}"])


def _memory_name(name: str) -> str:
    """Return the name of a shipped memory; ``DDR4-2666`` is the same as ``ddr4_2666``."""
    plain, names = name.lower().replace("-", "_"), dram_preset_names()
    if plain not in names:
        raise _unknown("memory", plain, names)
    return plain


def _memory(name: str) -> dict[str, Any]:
    return tomllib.loads(resources.files(_MEMORIES).joinpath(f"{_memory_name(name)}.toml").read_text("utf-8"))


def _over(upper: dict[str, Any], lower: dict[str, Any]) -> dict[str, Any]:
    """Lay values over others, part by part."""
    merged = dict(lower)
    for key, value in upper.items():
        below = lower.get(key)
        merged[key] = _over(value, below) if isinstance(value, dict) and isinstance(below, dict) else value
    return merged


def _with_memory(values: dict[str, Any], dram: str | None) -> dict[str, Any]:
    """Put in the memory that the file names in ``dram.preset``, or the one asked for instead."""
    own = values.get("dram")
    if not isinstance(own, dict):
        return values
    own = dict(own)
    named = own.pop("preset", None)
    if named is not None and not isinstance(named, str):
        raise ConfigError([f"dram.preset is {named!r}; it must be one of {', '.join(dram_preset_names())}"])
    if dram is not None:
        own = _over(_memory(dram), own)
    elif named is not None:
        own = _over(own, _memory(named))
    return values | {"dram": own}


def _with_base(values: dict[str, Any]) -> dict[str, Any]:
    """Put in the shipped configuration that the file names as ``base``, below the file's own values."""
    if "base" not in values:
        return values
    own = dict(values)
    named, names = own.pop("base"), preset_names()
    if named not in names:
        raise _unknown("base", str(named), names)
    shipped = tomllib.loads(resources.files(_SYSTEMS).joinpath(f"{named}.toml").read_text("utf-8"))
    return _over(own, _with_base(shipped))


def _with_flash(values: dict[str, Any]) -> dict[str, Any]:
    """Put in the flash that the file names in ``ssd.flash.preset``, below the file's own values."""
    ssd = values.get("ssd")
    own = ssd.get("flash") if isinstance(ssd, dict) else None
    if not isinstance(ssd, dict) or not isinstance(own, dict) or "preset" not in own:
        return values
    own = dict(own)
    named, names = own.pop("preset"), flash_preset_names()
    if named not in names:
        raise _unknown("ssd.flash.preset", str(named), names)
    shipped = tomllib.loads(resources.files(_FLASHES).joinpath(f"{named}.toml").read_text("utf-8"))
    return values | {"ssd": ssd | {"flash": _over(own, shipped)}}


def load_config(source: str | Path, *, dram: str | None = None) -> SystemConfig:
    """Load a system configuration.

    A file may name a shipped configuration, ``base = "gnnear"``: its own values go before that one's. Under ``[dram]``
    it may name a shipped memory, ``preset = "ddr4_2666"``; what else stands there goes before the memory's own values.
    The same goes for a shipped flash device under ``[ssd.flash]``.

    Parameters
    ----------
    source : str or Path
        The name of a preset (see `preset_names`) or the path of a TOML file that ends in ``.toml``.
    dram : str, optional
        A shipped memory (see `dram_preset_names`), also written like ``DDR4-2666``. All its values go before those of
        the source, and its name is added to that of the configuration.

    Returns
    -------
    SystemConfig
        The checked configuration.

    Raises
    ------
    ConfigError
        No such preset, memory or file, not TOML, or a value is refused.
    """
    name = str(source)
    if not name.endswith(".toml"):
        names = preset_names()
        if name not in names:
            raise _unknown("configuration", name, names, "; a file of your own must end in .toml")
        text = resources.files(_SYSTEMS).joinpath(f"{name}.toml").read_text("utf-8")
    else:
        try:
            text = Path(source).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError([f"{name}: cannot be read: {error}"]) from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([f"{name}: not valid TOML: {error}"]) from None
    suffix = "" if dram is None else f"+{_memory_name(dram)}"
    try:
        config = SystemConfig(**_with_flash(_with_memory(_with_base(values), dram)))
        config.dram.check()
        config.ssd.check()
    except ConfigError as error:
        raise ConfigError([f"{name}: {problem}" for problem in error.problems]) from None
    return config.replace(name=config.name + suffix)
