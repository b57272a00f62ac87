"""RTL of the Centralized Acceleration Engine."""
