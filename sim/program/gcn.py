"""Compiler of graph convolutional networks: ``h' = act(A h W)`` for each layer, with A the normalised adjacency."""

import numpy as np

from sim.config import SystemConfig
from sim.graph import Adjacency
from sim.program.items import AnyItem, Direction, Merge, Product, Program, Reduce, Vector
from sim.program.partition import Shards, shard_graph


def shard_adjacency(adjacency: Adjacency, config: SystemConfig) -> Shards:
    """Cut a weighted graph into the shards of a configuration.

    Parameters
    ----------
    adjacency : Adjacency
        Incoming edges with weights.
    config : SystemConfig
        The hardware.

    Returns
    -------
    Shards
        The shards.
    """
    return shard_graph(
        adjacency.indptr,
        adjacency.indices,
        adjacency.weights,
        interval=config.nme.interval,
        dram=config.dram,
        partition=config.partition,
    )


def update_first(layer: int, in_features: int, config: SystemConfig) -> bool:
    """Tell whether a layer interchanges its order: Update before Reduce (IEO).

    Parameters
    ----------
    layer : int
        The layer; only layer 0 interchanges. Source: GNNear's artifact.
    in_features : int
        Width of its input.
    config : SystemConfig
        Holds the width from which it pays.

    Returns
    -------
    bool
        True for Update first.
    """
    return layer == 0 and in_features > config.partition.update_first_above_features


def compile_gcn_forward(
    shards: Shards, layer: int, in_features: int, out_features: int, config: SystemConfig, *, last: bool
) -> list[AnyItem]:
    """Compile the forward pass of one layer.

    Parameters
    ----------
    shards : Shards
        The graph.
    layer : int
        The layer: it reads tensor ``h{layer}`` and ``w{layer}`` and makes ``h{layer + 1}``.
    in_features, out_features : int
        Widths.
    config : SystemConfig
        The hardware.
    last : bool
        True for the last layer, which has no activation.

    Returns
    -------
    list of items
        Reduce, merge, product and activation, or product first where that is the better order.
    """
    forward: Direction = "forward"
    h, w, out = f"h{layer}", f"w{layer}", f"h{layer + 1}" if last else f"z{layer}"
    n = shards.n_nodes

    def aggregate(source: str, result: str, features: int) -> list[AnyItem]:
        return [
            Reduce(layer=layer, direction=forward, shards=shards, features=features, source=source, result=f"p{layer}"),
            Merge(layer=layer, direction=forward, shards=shards, features=features, source=f"p{layer}", result=result),
        ]

    def update(source: str, result: str) -> AnyItem:
        return Product(
            layer=layer,
            direction=forward,
            kind="xw",
            rows=n,
            depth=in_features,
            columns=out_features,
            left=source,
            right=w,
            result=result,
        )

    if update_first(layer, in_features, config):
        items = [update(h, f"x{layer}"), *aggregate(f"x{layer}", out, out_features)]
    else:
        items = [*aggregate(h, f"a{layer}", in_features), update(f"a{layer}", out)]
    if not last:
        items.append(
            Vector(
                layer=layer,
                direction=forward,
                operation="relu",
                elements=n * out_features,
                source=out,
                result=f"h{layer + 1}",
            )
        )
    return items


def compile_gcn_layer(adjacency: Adjacency, in_features: int, out_features: int, config: SystemConfig) -> Program:
    """Compile one hidden layer, forward: tensors ``h0`` and ``w0`` in, ``h1`` out.

    Parameters
    ----------
    adjacency : Adjacency
        The normalised graph.
    in_features, out_features : int
        Widths.
    config : SystemConfig
        The hardware.

    Returns
    -------
    Program
        The layer.
    """
    shards = shard_adjacency(adjacency, config)
    items = compile_gcn_forward(shards, 0, in_features, out_features, config, last=False)
    return Program(name=f"gcn layer, {in_features} to {out_features}", items=tuple(items))


def compile_gcn_epoch(
    adjacency: Adjacency, transposed: Adjacency, widths: tuple[int, ...], config: SystemConfig
) -> Program:
    """Compile one epoch of full-batch training: forward, loss, backward with its Reduce, weight gradients, optimiser.

    With IEO a layer's backward pass is interchanged too: ``X^T (A^T dY)`` needs one Reduce of the narrow gradient.

    Parameters
    ----------
    adjacency, transposed : Adjacency
        The normalised graph, and the same with all edges turned round.
    widths : tuple of int
        Features of the input, of each hidden layer, and classes.
    config : SystemConfig
        The hardware.

    Returns
    -------
    Program
        The epoch.
    """
    shards = shard_adjacency(adjacency, config)
    fields = ("indptr", "indices", "weights")
    symmetric = all(np.array_equal(getattr(adjacency, name), getattr(transposed, name)) for name in fields)
    back = shards if symmetric else shard_adjacency(transposed, config)
    n, n_layers = shards.n_nodes, len(widths) - 1
    items: list[AnyItem] = []
    for layer in range(n_layers):
        items += compile_gcn_forward(
            shards, layer, widths[layer], widths[layer + 1], config, last=layer == n_layers - 1
        )
    backward: Direction = "backward"
    items.append(
        Vector(
            layer=n_layers - 1,
            direction=backward,
            operation="loss",
            elements=n * widths[-1],
            source=f"h{n_layers}",
            result=f"d{n_layers}",
        )
    )
    for layer in reversed(range(n_layers)):
        fan_in, fan_out = widths[layer], widths[layer + 1]
        interchanged = update_first(layer, fan_in, config)
        gradient = f"d{layer + 1}"
        # The gradient of A h W: the weights see A^T d with h, or d with A h; the input sees A^T d with W^T.
        if layer > 0 or interchanged:
            items += [
                Reduce(
                    layer=layer,
                    direction=backward,
                    shards=back,
                    features=fan_out,
                    source=gradient,
                    result=f"q{layer}",
                ),
                Merge(
                    layer=layer,
                    direction=backward,
                    shards=back,
                    features=fan_out,
                    source=f"q{layer}",
                    result=f"g{layer}",
                ),
            ]
        left, right = (f"h{layer}", f"g{layer}") if interchanged else (f"a{layer}", gradient)
        items.append(
            Product(
                layer=layer,
                direction=backward,
                kind="xtdy",
                rows=fan_in,
                depth=n,
                columns=fan_out,
                left=left,
                right=right,
                result=f"dw{layer}",
            )
        )
        if layer > 0:
            items += [
                Product(
                    layer=layer,
                    direction=backward,
                    kind="dywt",
                    rows=n,
                    depth=fan_out,
                    columns=fan_in,
                    left=f"g{layer}",
                    right=f"w{layer}",
                    result=f"dh{layer}",
                ),
                Vector(
                    layer=layer,
                    direction=backward,
                    operation="relu_gradient",
                    elements=n * fan_in,
                    source=f"dh{layer}",
                    result=f"d{layer}",
                ),
            ]
        items.append(
            Vector(
                layer=layer,
                direction=backward,
                operation="adam",
                elements=fan_in * fan_out,
                source=f"dw{layer}",
                result=f"w{layer}",
            )
        )
    return Program(name=f"gcn epoch, {' - '.join(map(str, widths))}", items=tuple(items))
