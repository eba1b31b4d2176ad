"""Settings, from settings.toml beside this file."""

import tomllib
from pathlib import Path


def load():
    with open(Path(__file__).with_name("settings.toml"), "rb") as file:
        return tomllib.load(file)
