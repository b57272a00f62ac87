"""Programs: work items, their compilation from a graph and a model, and the binary form that the engines read."""
