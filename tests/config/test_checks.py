"""Combinations of settings that would start and then hurt are said by name."""

from __future__ import annotations

from typing import Any

import pytest

from config import checks


def test_debug_on_a_public_name_is_an_error(settings: Any) -> None:
    settings.DEBUG, settings.ALLOWED_HOSTS = True, ["falsestep.example"]
    assert [found.id for found in checks.debug_stays_at_home(None)] == ["falsestep.E001"]
    settings.ALLOWED_HOSTS = ["127.0.0.1"]
    assert checks.debug_stays_at_home(None) == []


def test_postgresql_with_a_broker_of_files_is_warned_of(settings: Any) -> None:
    settings.DATABASE_URL, settings.REDIS_URL = "postgres://x", ""
    assert [found.id for found in checks.services_come_together(None)] == ["falsestep.W001"]
    settings.REDIS_URL = "redis://x"
    assert checks.services_come_together(None) == []


@pytest.mark.parametrize("rate", ["", "fast", "10", "0/min", "10/fortnight", "-1/s"])
def test_a_rate_that_cannot_be_read_is_an_error(settings: Any, rate: str) -> None:
    assert checks.api_rates_can_be_read(None) == []
    settings.REST_FRAMEWORK = {"DEFAULT_THROTTLE_RATES": {"person": rate, "heavy": "5/hour"}}
    assert [found.id for found in checks.api_rates_can_be_read(None)] == ["falsestep.E002"]
