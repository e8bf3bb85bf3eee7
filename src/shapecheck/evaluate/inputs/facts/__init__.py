"""What the code itself says of its parameters: in names, annotations, docstrings and bodies, and when it is traced."""
