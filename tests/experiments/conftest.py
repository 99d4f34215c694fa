"""The tiny corpus, and one thread."""

from __future__ import annotations

from tests.experiments.tiny import corpus as corpus
from tests.experiments.tiny import one_thread as one_thread
from tests.experiments.tiny import vectors as vectors
