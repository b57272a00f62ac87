"""Everything that is not hardware: configurations, graphs, programs, golden models, timing models, system model, reports."""
