"""Torch blocks, independent of files and corpora. Needs the extra `train`."""

from towhom.extras import require

require("torch", extra="train", purpose="training, and running a model with torch")
