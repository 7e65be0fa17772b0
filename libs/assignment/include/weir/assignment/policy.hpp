#pragma once

#include <weir/assignment/types.hpp>
#include <weir/base/expected.hpp>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace weir::assignment {

// What a policy sees of one DCM; its place in the span is its index.
struct DcmView {
  bool live = false;
  std::uint32_t credits = 0;       // as declared when it joined
  std::uint32_t credits_free = 0;  // 0 when it is not live
};

// Which DCM builds a slice. One thread.
class AssignmentPolicy {
 public:
  virtual ~AssignmentPolicy() = default;
  [[nodiscard]] virtual std::string_view name() const = 0;
  // A live DCM with a free credit, or none: then the slice waits. Called when at least one credit is free.
  [[nodiscard]] virtual std::optional<NodeIndex> choose(SliceId slice, std::span<const DcmView> dcms) = 0;
};

// `credits`  round robin among the DCMs that have a credit free
// `static`   slice s to DCM s mod N, N being all places of the farm; when that DCM is not there, the next one
// that
//            is. A slice whose DCM has no credit free waits for it
[[nodiscard]] std::vector<std::string_view> policy_names();
[[nodiscard]] Expected<std::unique_ptr<AssignmentPolicy>, Failure> make_policy(std::string_view policy_name);

}  // namespace weir::assignment
