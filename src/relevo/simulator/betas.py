"""
The `anthropic-beta` names that the API knows.

Source: `anthropic` SDK 2.15 `types/anthropic_beta_param.py` and older SDKs, read 2026-12-01.
"""

from __future__ import annotations

BETAS = frozenset(  # words, because sixty quoted lines say no more
    """
    context-management-2025-06-27 compact-2026-01-12 compact-2026-09-04 message-threads-2026-08-12
    task-budgets-2026-03-13 server-side-fallback-2026-06-01 server-side-fallback-2026-07-01
    fallback-credit-2026-06-01 fallback-credit-2026-07-01 advisor-tool-2026-03-01
    mcp-client-2025-04-04 mcp-client-2025-11-20 mcp-client-2026-09-15 inline-tools-2026-09-15
    mid-conversation-tool-changes-2026-07-01 mid-conversation-output-config-2026-07-01
    mid-conversation-system-clear-at-2026-08-21 thinking-binding-controls-2026-08-01
    thinking-display-updates-2026-08-18 thinking-token-count-2026-05-13 interleaved-thinking-2025-05-14
    fast-mode-2026-02-01 managed-agents-2026-04-01 agent-memory-2026-07-22 dreaming-2026-04-21
    mcp-tunnels-2026-06-22 webhooks-2026-10-07 user-profiles-2026-03-24 user-profiles-2026-08-18
    user-profiles-2026-09-04 user-profiles-billing-2026-10-01 context-1m-2025-08-07 output-128k-2025-02-19
    output-300k-2026-03-24
    message-batches-2024-09-24 prompt-caching-2024-07-31 pdfs-2024-09-25 token-counting-2024-11-01
    token-efficient-tools-2025-02-19 files-api-2025-04-14 extended-cache-ttl-2025-04-11 skills-2025-10-02
    structured-outputs-2025-11-13 cache-diagnosis-2026-04-07 code-execution-2025-05-22
    model-context-window-exceeded-2025-08-26 dev-full-thinking-2025-05-14 computer-use-2024-10-22
    computer-use-2025-01-24 computer-use-2025-11-24 code-execution-2025-08-25 web-fetch-2025-09-10
    advanced-tool-use-2025-11-20 tool-search-tool-2025-10-19 fine-grained-tool-streaming-2025-05-14 effort-2025-11-24
    ce-plugins-2026-09-01 ce-user-management-2026-07-13 ce-claude-code-managed-settings-2026-10-06
    spend-limit-reads-2026-09-26 telemetry-destinations-2026-08-11 admin-user-sign-out-2026-10-08
    analytics-usage-cost-2026-08-24 experimental-claude-tag-2026-10-21 efs-2026-10-01
    google-managed-data-controls-2026-09-01
    """.split()  # noqa: SIM905
)
"""Current names, names that do nothing any more, and names of administration; all are accepted."""

VERSIONS = ("2023-06-01", "2026-10-21")
"""Accepted values of `anthropic-version`."""
NEWEST_VERSION = VERSIONS[-1]
