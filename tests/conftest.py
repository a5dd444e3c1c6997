"""What holds for every test."""

from __future__ import annotations

import os
from collections.abc import Generator

import pytest
from hypothesis import HealthCheck, settings

# A busy machine is not a failure.
settings.register_profile("patient", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("ci", parent=settings.get_profile("patient"), print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "patient"))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Where nothing may be skipped (CI), a skip is a failure."""
    report = yield
    if report.skipped and os.environ.get("RELEVO_NO_SKIPS"):
        report.outcome = "failed"
        report.longrepr = f"skipped where nothing may be: {report.longrepr}"
    return report


@pytest.fixture(autouse=True)
def no_environment_of_the_developer(monkeypatch: pytest.MonkeyPatch) -> None:
    """No test sees the key, the base URL or the log of whoever runs it."""
    for name in list(os.environ):
        if name.startswith(("ANTHROPIC_", "RELEVO_LOG", "RELEVO_AGENTS", "RELEVO_DESK")):
            monkeypatch.delenv(name)
