"""The parts of bench/run.py. Python's standard library only."""
