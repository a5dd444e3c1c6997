import pytest
from hypothesis import settings

pytest.register_assert_rewrite("tests.contracts.log_contract")

# A busy machine is not a failure.
settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
