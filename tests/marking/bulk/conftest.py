"""Stored outputs in small shards."""

import pytest


@pytest.fixture
def small_shards(monkeypatch):
    """Stored outputs are cut into shards of about 100 rows or 2,000 bytes."""
    monkeypatch.setattr("markscheme.marking.bulk.shards.ROWS", 100)
    monkeypatch.setattr("markscheme.marking.bulk.shards.BYTES", 2000)
