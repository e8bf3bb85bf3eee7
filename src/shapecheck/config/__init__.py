"""The settings of a run: by `[tool.shapecheck]` in a pyproject.toml, and by the command line."""

from shapecheck.config.load_config import load
from shapecheck.config.option import Option
from shapecheck.config.settings import (
    Config,
    ConfigError,
    Example,
    executor_address,
    folder_or_url,
    interpreter,
    key_of,
    options,
)

__all__ = [
    "Config",
    "ConfigError",
    "Example",
    "Option",
    "executor_address",
    "folder_or_url",
    "interpreter",
    "key_of",
    "load",
    "options",
]
