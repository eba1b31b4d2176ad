"""Settings: flag, environment, config/settings.json, goal.md, default, in that order."""

from selfimprove.config.load import Config, Source, from_goal, load_config, read_settings
from selfimprove.config.times import deadline

__all__ = ["Config", "Source", "deadline", "from_goal", "load_config", "read_settings"]
