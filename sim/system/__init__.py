"""System model: from work items to seconds, joules and what binds."""
