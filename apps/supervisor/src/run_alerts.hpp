#pragma once

#include <weir/base/time.hpp>
#include <weir/burst/alert_book.hpp>
#include <weir/v1/control.pb.h>
#include <weir/v1/journal.pb.h>

#include <cstdint>
#include <optional>

namespace weir::supervisor {

// The alerts of a run, as the journal keeps them.
struct RunAlerts {
  burst::AlertBook book;
  std::uint64_t refused = 0;                    // alerts
  std::optional<UtcNs> filter_alert_from = {};  // of the last alert of a filter
};

void put(const burst::Alert& alert, v1::BurstAlert& out);
void put(const burst::Account& account, v1::BurstAccount& out);
void put(const burst::AlertAccount& account, v1::BurstAccount& out);
[[nodiscard]] burst::Alert alert_of(const v1::BurstAlert& from);
[[nodiscard]] burst::Account fates_of(const v1::BurstAccount& from);
[[nodiscard]] burst::AlertAccount account_of(const v1::BurstAccount& from);

void put(const RunAlerts& alerts, v1::JournalAlerts& out);
// Requires: written by put(); entries of the journal have a checksum.
[[nodiscard]] RunAlerts alerts_of(const v1::JournalAlerts& from);
// Applies an entry.
void open_alert(const v1::JournalAlertOpened& entry, RunAlerts& alerts);
void take_account(const v1::JournalAlertAccount& entry, RunAlerts& alerts);

}  // namespace weir::supervisor
