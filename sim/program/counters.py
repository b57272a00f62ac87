"""Names of the engines' cycle counters: in every cycle exactly one of an engine's counters counts."""

COUNTER_BITS = 48
"""Width of a counter: 4 days at 700 MHz."""

REDUCE_COUNTERS = {
    "busy": "a shard ran: an edge's beat was accumulated, a bad edge dropped, or a source given up",
    "wait_edge": "a shard ran, but no edge was offered",
    "wait_vector": "a shard ran, but its source vector was not yet whole",
    "wait_hazard": "a shard ran, but the edge's destination was still being added to",
    "wait_drain": "nothing of the shard was left to run: it waited for the one before to drain, or passed on",
    "flush": "no shard ran; the last sums of one were being written",
    "drain": "no shard ran; a partial sum was read or handed over",
    "wait_partials": "no shard ran; a partial sum was offered but not taken",
    "wait_status": "no shard ran; a status was handed over, or offered but not taken",
    "idle": "no shard ran, and none drained",
}
"""Counters of a Near-Memory Engine's reduce unit, in order of precedence, with what a counted cycle was."""

ENGINE_COUNTERS = {
    "transfer": "a burst took its time on the data bus",
    "refresh": "a refresh was owed and being made",
    "row": "a request waited for its row, or for its turn on the bus",
    "compute": "the next source's vector waited for a slot: the reduce unit, or whoever takes its sums, was behind",
    "window": "the next shard waited for the other engines",
    "fetch": "nothing could be asked for yet: a list, or the last vectors, were on their way or in the reduce unit",
    "idle": "no command was under way",
}
"""Counters of a Near-Memory Engine in cycles of the memory's clock, in order of precedence: what a cycle was."""

MATRIX_COUNTERS = {
    "busy": "a row of activations entered the array",
    "wait_weights": "a tile ran, but the block's weights were not yet in place",
    "wait_activations": "a tile ran, but no row of activations was offered",
    "wait_accumulator": "a tile ran, but the row's sum of the block before was still in the array",
    "wait_drain": "nothing of the tile was left to run: it waited for the one before to drain, or passed on",
    "flush": "no tile ran; the last sums of one were being written",
    "drain": "no tile ran; a result was read or handed over",
    "wait_results": "no tile ran; a result was offered but not taken",
    "wait_status": "no tile ran; a status was handed over, or offered but not taken",
    "idle": "no tile ran, and none drained",
}
"""Counters of the systolic array, in order of precedence, with what a counted cycle was."""

PRODUCT_COUNTERS = {name: meaning for name, meaning in MATRIX_COUNTERS.items() if name != "wait_results"}
"""Counters of the systolic array where banks take all of its results at once."""

VECTOR_COUNTERS = {
    "busy": "a beat of the left operand was read",
    "pace": "fewer rows were left to reduce than an adder has stages: the next beat waited for the row's sum",
    "flush": "all was read; the last results were on their way",
    "idle": "no job was under way, or one was taken",
}
"""Counters of a vector unit, in order of precedence, with what a counted cycle was."""

TRANSFER_COUNTERS = {
    "busy": "a request was handed to the memory",
    "wait_memory": "a request was offered to the memory, but not taken",
    "fill": "a transfer was under way, but its next request was not yet at the port",
    "wait_response": "all was asked for; answers of the memory were still to come",
    "idle": "no transfer was under way, or one was taken",
}
"""Counters of the transfer unit, in order of precedence, with what a counted cycle was."""

MERGE_COUNTERS = {
    "busy": "a beat of a source began to be added",
    "fill": "zeros for what the first source did not send began to be written",
    "wait_hazard": "a beat waited: the beat that it is added to was still being written",
    "wait_source": "no beat was at hand: none was offered, or what was taken was an end, or dropped",
    "flush": "all was taken; the last sums were being written",
    "idle": "no job was under way, or one was taken",
}
"""Counters of the merge unit, in order of precedence, with what a counted cycle was."""

CAE_COUNTERS = {
    "transfer": TRANSFER_COUNTERS,
    "product": PRODUCT_COUNTERS,
    "merge": MERGE_COUNTERS,
    "vector": VECTOR_COUNTERS,
}
"""Counters of the Centralized Acceleration Engine's units, by kind."""

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
