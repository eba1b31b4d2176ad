"""The catalogue of threats, each row a scripted candidate through the real loop."""
