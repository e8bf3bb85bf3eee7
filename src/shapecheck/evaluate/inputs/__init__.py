"""What to run, and with what. Each room may import those before it: `facts`, `trials`, `project`, `synthesis`."""
