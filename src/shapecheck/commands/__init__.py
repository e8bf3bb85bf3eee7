"""What the commands do, each written once: from a request to a result, with nothing printed."""
