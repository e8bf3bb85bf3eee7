"""The frameworks that we know: each answers in one file what `framework_protocol` asks."""
