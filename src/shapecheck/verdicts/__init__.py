"""Rules: claims held against observations. Pure."""
