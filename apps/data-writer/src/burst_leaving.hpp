#pragma once

#include <weir/base/ids.hpp>
#include <weir/base/time.hpp>

#include <optional>
#include <set>

namespace weir::writer {

// The DCMs for which a writer that ends keeps its alerts' files open: an unanswered record belongs to this
// writer, and its DCM could give it to no other. Pure.
class BurstLeaving {
 public:
  // For a DCM that does not answer, or is not connected.
  static constexpr DurationNs kPatience = 5 * kSecond;

  // The DCM has records for this writer.
  void note_records(NodeIndex dcm) { with_records_.insert(dcm); }
  // None of its records is unanswered.
  void note_left(NodeIndex dcm) { with_records_.erase(dcm); }
  // No alert is open.
  void note_over() { with_records_.clear(); }
  void begin(TimeNs now_ns) { until_ns_ = now_ns + kPatience; }
  [[nodiscard]] bool has_begun() const { return until_ns_.has_value(); }
  [[nodiscard]] bool is_over(TimeNs now_ns) const {
    return has_begun() && (with_records_.empty() || now_ns >= *until_ns_);
  }

 private:
  std::set<NodeIndex> with_records_;
  std::optional<TimeNs> until_ns_;
};

}  // namespace weir::writer
