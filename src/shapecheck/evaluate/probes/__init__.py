"""The user's code as it runs: imported with probes, and what the probes see."""
