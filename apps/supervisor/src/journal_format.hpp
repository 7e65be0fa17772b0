#pragma once

#include <weir/assignment/ledger.hpp>
#include <weir/base/hash.hpp>
#include <weir/v1/control.pb.h>

#include <array>
#include <cstddef>

// Definitions shared by reading and writing a journal.
namespace weir::supervisor {

// Each entry: its length and its CRC32C, 32 bits each, little-endian, and the bytes.
constexpr std::size_t kJournalHead = 8;

// In the order of JournalCounts.count: append new ones.
constexpr std::array kJournalCounts = {
    &assignment::SupervisorLedger::offered,           &assignment::SupervisorLedger::assignments,
    &assignment::SupervisorLedger::unfiltered,        &assignment::SupervisorLedger::reopened,
    &assignment::SupervisorLedger::leases_expired,    &assignment::SupervisorLedger::reconfirmed,
    &assignment::SupervisorLedger::decisions_refused, &assignment::SupervisorLedger::decisions_repeated,
    &assignment::SupervisorLedger::copies_taken,      &assignment::SupervisorLedger::acks_dead,
    &assignment::SupervisorLedger::acks_repeated,     &assignment::SupervisorLedger::acks_unknown,
    &assignment::SupervisorLedger::strangers,         &assignment::SupervisorLedger::restarts,
    &assignment::SupervisorLedger::suspected,         &assignment::SupervisorLedger::handed_back,
    &assignment::SupervisorLedger::records_refused};

inline void put_sum(const SliceSum& sum, v1::SliceSum& out) {
  out.set_count(sum.count);
  out.set_hash_sum(sum.hash_sum);
}
[[nodiscard]] inline SliceSum sum_of(const v1::SliceSum& sum) { return {sum.count(), sum.hash_sum()}; }

}  // namespace weir::supervisor
