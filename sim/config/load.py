"""Read a configuration from a shipped preset or a TOML file."""

import difflib
import tomllib
from importlib import resources
from pathlib import Path

from sim.config.base import ConfigError
from sim.config.system import SystemConfig


def preset_names() -> list[str]:
    """Return the names of the shipped presets, sorted."""
    folder = resources.files("sim.config.presets")
    return sorted(entry.name.removesuffix(".toml") for entry in folder.iterdir() if entry.name.endswith(".toml"))


def load_config(source: str | Path) -> SystemConfig:
    """Load a system configuration.

    Parameters
    ----------
    source : str or Path
        The name of a preset (see `preset_names`) or the path of a TOML file that ends in ``.toml``.

    Returns
    -------
    SystemConfig
        The checked configuration.

    Raises
    ------
    ConfigError
        No such preset or file, not TOML, or a value is refused.
    """
    name = str(source)
    if not name.endswith(".toml"):
        names = preset_names()
        if name not in names:
            near = difflib.get_close_matches(name, names, n=1, cutoff=0.5)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ConfigError(
                [
                    f"configuration {name!r} is not known; {hint}the presets are {', '.join(names)}; "
                    "a file of your own must end in .toml"
                ]
            )
        text = resources.files("sim.config.presets").joinpath(f"{name}.toml").read_text("utf-8")
    else:
        try:
            text = Path(source).read_text("utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError([f"{name}: cannot be read: {error}"]) from None
    try:
        values = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError([f"{name}: not valid TOML: {error}"]) from None
    try:
        config = SystemConfig(**values)
        config.dram.check()
        return config
    except ConfigError as error:
        raise ConfigError([f"{name}: {problem}" for problem in error.problems]) from None
