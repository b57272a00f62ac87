"""What stands around a design in a bench: players, referees, simulators and the scoreboard."""
