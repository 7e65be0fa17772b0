"""Names of the numbers in slice records. Rendered by base_test from libs/foundation/base: do not edit."""

STATUS = (
    "ok",
    "missing",
    "truncated",
    "corrupt",
    "suppressed",
    "not_requested",
    "out_of_step",
)
REASON = (
    "none",
    "deadline",
    "source_down",
    "restarted",
    "not_produced",
    "dropped",
    "masked",
    "no_buffer",
    "overflow",
    "too_large",
    "unknown_source",
    "gap",
    "removed",
    "too_old",
)
DECISION = (
    "filter",
    "prescale",
    "no_filter",
    "incomplete",
    "poison",
    "undecided",
    "burst",
)
