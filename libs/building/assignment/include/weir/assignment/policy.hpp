#pragma once

#include <weir/assignment/words.hpp>
#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::assignment {

// A policy's view of one DCM; its position in the span is its index.
struct DcmView {
  bool live = false;
  std::uint32_t credits = 0;       // as declared when it joined
  std::uint32_t credits_free = 0;  // 0 when it is not live, or closed
  bool closed = false;             // draining, or removed from the run

  [[nodiscard]] bool is_open() const { return live && !closed; }
  // Slices that it works on, or has not answered yet.
  [[nodiscard]] std::uint32_t in_use() const { return credits - credits_free; }
};

// Chooses the DCM for a slice. Pure: time is a parameter. One thread.
class AssignmentPolicy {
 public:
  virtual ~AssignmentPolicy() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // So many slices wait, and are offered to choose() in turn.
  virtual void begin_round(std::size_t /*waiting*/, std::span<const DcmView> /*dcms*/) {}
  // Returns a live DCM with a free credit, or nullopt: then the slice waits. Requires: at least one credit is
  // free. The caller assigns the slice to the returned DCM immediately.
  [[nodiscard]] virtual std::optional<NodeIndex> choose(SliceId slice, std::span<const DcmView> dcms,
                                                        TimeNs now) = 0;
  // Reports a DCM's decision, `took` after the assignment, when it had `before` other slices. Also called for
  // slices that another component assigned.
  virtual void decided(NodeIndex /*dcm*/, std::uint32_t /*before*/, DurationNs /*took*/, TimeNs /*now*/) {}
  // A new process of the DCM joined: forget earlier measurements.
  virtual void joined(NodeIndex /*dcm*/) {}
};

struct PolicySettings {
  std::string name = "credits";        // one of policy_names()
  std::vector<std::uint32_t> weights;  // schedule-table: weight of each DCM, 1 for further ones; never 0
};

// `credits`         round robin among the DCMs with a free credit: flow control, without balancing before
//                   a DCM is full (RCNP emulation, section VI, "Using multi-processor machines"). Slices that
//                   wait at the same time are dealt in runs, one for each DCM
// `static`          slice s to DCM s mod N, N being all places of the farm; if that DCM is absent, the next
//                   present one. If that DCM has no free credit, the slice waits for it
// `schedule-table`  weighted round robin through an evenly spread table; DCMs without free credits are
//                   skipped. The paper's enhanced scheme: it needs the speeds as configuration
// `least-loaded`    the DCM with the smallest share of its credits in use (join the shortest queue); among
//                   equals the one with most recent decisions, because it will be free first
// `learning`        the DCM with the earliest expected decision, from measurements (learning_policy.cpp)
[[nodiscard]] std::vector<std::string_view> policy_names();
[[nodiscard]] Expected<std::unique_ptr<AssignmentPolicy>, AssignmentFailure> make_policy(
    const PolicySettings& settings);
[[nodiscard]] Expected<std::unique_ptr<AssignmentPolicy>, AssignmentFailure> make_policy(
    std::string_view policy_name);

}  // namespace weir::assignment
