"""A training step on Zachary's karate club: the program, what stands in memory before it, and the partial sums."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from sim.config import SystemConfig
from sim.golden.execute import partial_streams
from sim.golden.numbers import fp32_to_bf16
from sim.graph import adjacency, load_graph
from sim.program.cae_memory import MemoryMap
from sim.program.cae_optimiser import Optimiser
from sim.program.cae_training import GcnStep, compile_gcn_step
from sim.program.gcn import compile_gcn_layer
from sim.program.items import Reduce


@dataclass(frozen=True, kw_only=True)
class KarateStep:
    """One step.

    Attributes
    ----------
    model : GcnStep
        What is trained.
    instructions : ndarray of uint8
        The program.
    memory : ndarray of uint16
        The memory before.
    placed : MemoryMap
        What stands where.
    partials : list of ndarray of uint8
        What the sources of MERGE send.
    values : dict of str to ndarray of float32
        ``adjacency``, ``features``, ``labels``, ``mask``, and the weights before.
    """

    model: GcnStep
    instructions: NDArray[np.uint8]
    memory: NDArray[np.uint16]
    placed: MemoryMap
    partials: list[NDArray[np.uint8]]
    values: dict[str, NDArray[np.float32]]


def karate_step(
    config: SystemConfig,
    *,
    features: int = 16,
    keep: float = 0.5,
    optimiser: Optimiser | None = None,
    seed: int = 0,
    step: int = 1,
) -> KarateStep:
    """Make a step: random features and weights, labels of all members but every third."""
    graph, rng = load_graph("karate"), np.random.default_rng(seed)
    weighted = adjacency(graph, "gcn")
    n, classes = graph.n_nodes, graph.n_classes
    dense = np.zeros((n, n), np.float32)
    dense[np.repeat(np.arange(n), np.diff(weighted.indptr)), weighted.indices] = weighted.weights
    labelled = np.arange(n) % 3 != 0
    values = {
        "adjacency": dense,
        "features": rng.standard_normal((n, features)).astype(np.float32),
        "labels": (np.eye(classes, dtype=np.float32)[graph.labels] * labelled[:, None]).astype(np.float32),
        "mask": labelled.astype(np.float32),
    }
    model = GcnStep(
        vertices=n,
        features=features,
        hidden=config.hidden_features,
        classes=classes,
        labelled=int(labelled.sum()),
        sources=config.dram.dimms,
        keep=keep,
        key=2**40 + seed,
        optimiser=optimiser or Optimiser(),
    )
    placed = model.memory_map(config.cae.lanes)
    memory = placed.empty()
    for name, shape in model.weights.items():
        values[name] = rng.uniform(-0.5, 0.5, shape).astype(np.float32)
        placed.write(memory, name, values[name].view(np.uint32))
        for state in model.optimiser.states:
            full = f"{name}.{state}"
            values[full] = (rng.uniform(0, 0.01, shape) if step > 1 else np.zeros(shape)).astype(np.float32)
            placed.write(memory, full, values[full].view(np.uint32))
    placed.write(memory, "adjacency", fp32_to_bf16(dense.view(np.uint32)))
    placed.write(memory, "labels", values["labels"].view(np.uint32))
    spread = np.repeat(values["mask"][:, None], config.cae.lanes, axis=1)
    placed.write(memory, "mask", spread.view(np.uint32))
    layer = compile_gcn_layer(weighted, features, 1, config.replace(**{"partition.update_first_above_features": 65536}))
    reduce = next(item for item in layer.items if isinstance(item, Reduce))
    return KarateStep(
        model=model,
        instructions=compile_gcn_step(model, config.cae, step).encode(),
        memory=memory,
        placed=placed,
        partials=partial_streams(reduce, {reduce.source: values["features"].view(np.uint32)}, config),
        values=values,
    )


def reference_step(one: KarateStep, step: int, kept: NDArray[np.bool_]) -> dict[str, NDArray[np.float64]]:
    """Do the same step in double precision: the loss, and all that is trained, afterwards; `kept` by dropout."""
    v = {name: values.astype(np.float64) for name, values in one.values.items()}
    model, rule = one.model, one.model.optimiser
    adjacent = v["adjacency"]
    a0 = adjacent @ v["features"]
    hidden = np.maximum(a0 @ v["w0"] + v["b0"], 0) * kept / model.keep
    a1 = adjacent @ hidden
    logits = a1 @ v["w1"] + v["b1"]
    logits -= logits.max(axis=1, keepdims=True)
    total = np.exp(logits).sum(axis=1, keepdims=True)
    mask = v["mask"][:, None] / model.labelled
    loss = ((np.log(total) - (logits * v["labels"]).sum(axis=1, keepdims=True)) * mask).sum()
    d1 = np.exp(logits) / total * mask - v["labels"] / model.labelled
    dz0 = (adjacent.T @ (d1 @ v["w1"].T)) * kept / model.keep * (hidden > 0)
    gradients = {
        "w0": a0.T @ dz0,
        "b0": dz0.sum(axis=0, keepdims=True),
        "w1": a1.T @ d1,
        "b1": d1.sum(axis=0, keepdims=True),
    }
    out = {"loss": loss.reshape(1, 1)}
    for name, found in gradients.items():
        weight, gradient = v[name], found
        if rule.rule == "adamw":
            weight = weight * (1 - rule.learning_rate * rule.weight_decay)
        else:
            gradient = gradient + rule.weight_decay * weight
        if rule.rule == "sgd":
            out[f"{name}.velocity"] = rule.momentum * v[f"{name}.velocity"] + gradient
            out[name] = weight - rule.learning_rate * out[f"{name}.velocity"]
            continue
        first = rule.beta1 * v[f"{name}.first_moment"] + (1 - rule.beta1) * gradient
        second = rule.beta2 * v[f"{name}.second_moment"] + (1 - rule.beta2) * gradient**2
        out |= {f"{name}.first_moment": first, f"{name}.second_moment": second}
        scaled = np.sqrt(second / (1 - rule.beta2**step)) + rule.epsilon
        out[name] = weight - rule.learning_rate * first / (1 - rule.beta1**step) / scaled
    return out
