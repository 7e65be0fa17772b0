#include <weir/slice_rows/words.hpp>

#include <array>

namespace weir::slice_rows {
namespace {

constexpr std::array<std::string_view, kDiscardReasons> kDiscardNames = {
    "none",           "unspecified",   "no_buffer",          "overflow",
    "too_large",      "deadline",      "filter_failed",      "lost",
    "no_writer",      "drain_timeout", "attempts_exhausted", "supervisor_restart",
    "writer_refused", "unreachable",   "crowded_out"};

constexpr std::array<std::string_view, kVetoReasons> kVetoNames = {
    "none",     "busy_pending", "in_flight", "throttled", "duplicate_id",   "bad_id",       "too_large",
    "draining", "closed",       "stalled",   "paused",    "id_memory_full", "not_ascending"};

template <std::size_t N>
std::string_view lookup(const std::array<std::string_view, N>& names, std::size_t index) {
  return index < N ? names[index] : "unknown";
}

constexpr std::array<std::string_view, 5> kVerdictNames = {"reject", "accept", "failed", "held", "forward"};
constexpr std::array<std::string_view, 3> kOutcomeNames = {"stored", "rejected", "discarded"};

}  // namespace

std::string_view name(Verdict verdict) { return lookup(kVerdictNames, static_cast<std::size_t>(verdict)); }
std::string_view name(DiscardReason reason) {
  return lookup(kDiscardNames, static_cast<std::size_t>(reason));
}
std::string_view name(VetoReason reason) { return lookup(kVetoNames, static_cast<std::size_t>(reason)); }
std::string_view name(Outcome outcome) { return lookup(kOutcomeNames, static_cast<std::size_t>(outcome)); }

DiscardReason discard_reason(std::string_view reason_name) {
  for (std::size_t i = 1; i < kDiscardReasons; ++i) {
    if (kDiscardNames[i] == reason_name) return static_cast<DiscardReason>(i);
  }
  return DiscardReason::unspecified;
}

}  // namespace weir::slice_rows
