"""Vector unit of the Centralized Acceleration Engine."""
