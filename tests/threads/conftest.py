from __future__ import annotations

from tests.nn.conftest import one_thread as one_thread
