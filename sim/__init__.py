"""All that is not hardware: configurations, graphs, programs, golden and timing models, system model, reports."""
