"""Names of the engines' cycle counters: in every cycle exactly one of an engine's counters counts."""

COUNTER_BITS = 48
"""Width of a counter: 4 days at 700 MHz."""

REDUCE_COUNTERS = {
    "busy": "an edge's beat was accumulated, or a bad edge dropped",
    "wait_edge": "no edge was offered",
    "wait_vector": "the edge's source vector was not yet whole",
    "wait_hazard": "the edge's destination was still being added to",
    "flush": "all edges were issued; the last sums were being written",
    "drain": "a partial sum was read or handed over",
    "wait_partials": "a partial sum was offered but not taken",
    "wait_status": "the status was handed over, or offered but not taken",
    "idle": "no command was under way",
}
"""Counters of a Near-Memory Engine's reduce unit, in order of precedence, with what a counted cycle was."""

MATRIX_COUNTERS = {
    "busy": "a row of activations entered the array",
    "wait_weights": "the block's weights were not yet in place",
    "wait_activations": "no row of activations was offered",
    "wait_accumulator": "the row's sum of the block before was still in the array",
    "flush": "all rows were issued; the last sums were being written",
    "drain": "a result was read or handed over",
    "wait_results": "a result was offered but not taken",
    "wait_status": "the status was handed over, or offered but not taken",
    "idle": "no command was under way",
}
"""Counters of the systolic array, in order of precedence, with what a counted cycle was."""

DRAM_COUNTERS = {
    "read": "a burst was read",
    "write": "a burst was written",
    "activate": "a row was opened",
    "precharge": "a row was closed for another",
    "precharge_all": "all rows of a rank were closed for a refresh",
    "refresh": "a rank was refreshed",
    "none": "no command: data moved, or a gate was shut, or nothing was asked for",
}
"""What stood on the command bus of a DRAM channel in each cycle; by the names of `DramCommand`, small."""
