"""Names of the sampling engine's cycle counters: in every cycle exactly one of a unit's counters counts."""

DRAW_COUNTERS = {
    "busy": "a sample was handed over",
    "wait_window": "a sample was offered but not taken: the window, or the page slots, were full",
    "reject": "a draw was being divided or drawn again",
    "fill": "targets were at hand, but the next draw was still on its way",
    "idle": "no target was at hand",
}
"""Counters of the draw unit, in order of precedence, with what a counted cycle was."""

CHANNEL_COUNTERS = {
    "command": "the bus gave a read's command, or chose a column",
    "transfer": "a beat of a page was on the bus",
    "paused": "a beat was held up: what it held had not yet been taken",
    "load": "no page was moved; one that was ready waited for the loader",
    "read": "no page was ready; at least one die was reading",
    "idle": "no page was wanted of the channel",
}
"""Counters of a flash channel, in order of precedence, with what a counted cycle was."""
