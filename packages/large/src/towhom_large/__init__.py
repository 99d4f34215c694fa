"""The large model of towhom. `towhom.load("large")` loads it."""

from pathlib import Path

MODEL = Path(__file__).parent / "model"
"""The folder of the model."""
