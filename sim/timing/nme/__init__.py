"""Timing model of whole Near-Memory Engines with their memories."""

from sim.timing.nme.engine import EngineStalls, EngineTiming, engine_timing

__all__ = ["EngineStalls", "EngineTiming", "engine_timing"]
