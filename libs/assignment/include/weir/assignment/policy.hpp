#pragma once

#include <weir/assignment/types.hpp>
#include <weir/base/expected.hpp>
#include <weir/base/time.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weir::assignment {

// What a policy sees of one DCM; its place in the span is its index.
struct DcmView {
  bool live = false;
  std::uint32_t credits = 0;       // as declared when it joined
  std::uint32_t credits_free = 0;  // 0 when it is not live, or closed
  bool closed = false;             // it drains, or was taken out of the run

  [[nodiscard]] bool is_open() const { return live && !closed; }
  // Slices that it works on, or has not answered about.
  [[nodiscard]] std::uint32_t in_use() const { return credits - credits_free; }
};

// Which DCM builds a slice. Pure: what it knows of time it is told. One thread.
class AssignmentPolicy {
 public:
  virtual ~AssignmentPolicy() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // A live DCM with a free credit, or none: then the slice waits. Called when at least one credit is free;
  // the slice is assigned at once to the one that is named.
  [[nodiscard]] virtual std::optional<NodeIndex> choose(SliceId slice, std::span<const DcmView> dcms,
                                                        TimeNs now) = 0;
  // A decision of a DCM `took` so long after the assignment, when it had `before` other slices. Also those of
  // slices that were assigned by others than this policy.
  virtual void decided(NodeIndex /*dcm*/, std::uint32_t /*before*/, DurationNs /*took*/, TimeNs /*now*/) {}
  // A new process: what was known of it is not true any more.
  virtual void joined(NodeIndex /*dcm*/) {}
};

struct PolicySettings {
  std::string name = "credits";        // one of policy_names()
  std::vector<std::uint32_t> weights;  // schedule-table: of each DCM, 1 for those beyond; none is 0
};

// `credits`         round robin among the DCMs that have a credit free: flow control, which balances nothing
//                   before a DCM is full (RCNP emulation, section VI, "Using multi-processor machines")
// `static`          slice s to DCM s mod N, N being all places of the farm; when that one is not there, the
//                   next one that is. A slice whose DCM has no credit free waits for it
// `schedule-table`  round robin through a table in which each DCM stands as often as its weight says, evenly
//                   spread; a DCM without a free credit is passed over. The paper's enhanced scheme: it has
//                   to be told the speeds
// `least-loaded`    the DCM with the smallest share of its credits in use (join the shortest queue); among
//                   equals the one that decided most of late, for it will be free first
// `learning`        the DCM that is expected to decide first, by what was measured of it
//                   (learning_policy.cpp)
[[nodiscard]] std::vector<std::string_view> policy_names();
[[nodiscard]] Expected<std::unique_ptr<AssignmentPolicy>, Failure> make_policy(
    const PolicySettings& settings);
[[nodiscard]] Expected<std::unique_ptr<AssignmentPolicy>, Failure> make_policy(std::string_view policy_name);

}  // namespace weir::assignment
