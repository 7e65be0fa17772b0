#include <weir/assignment/policy.hpp>

#include <string>

namespace weir::assignment {
namespace {

NodeIndex index_of(std::size_t place) { return NodeIndex(static_cast<std::uint16_t>(place)); }

class CreditsPolicy final : public AssignmentPolicy {
 public:
  std::string_view name() const override { return "credits"; }
  std::optional<NodeIndex> choose(SliceId, std::span<const DcmView> dcms) override {
    for (std::size_t step = 0; step < dcms.size(); ++step) {
      if (++last_ >= dcms.size()) last_ = 0;
      if (dcms[last_].credits_free > 0) return index_of(last_);
    }
    return std::nullopt;
  }

 private:
  std::size_t last_ = SIZE_MAX - 1;
};

class StaticPolicy final : public AssignmentPolicy {
 public:
  std::string_view name() const override { return "static"; }
  std::optional<NodeIndex> choose(SliceId slice, std::span<const DcmView> dcms) override {
    if (dcms.empty()) return std::nullopt;
    std::size_t place = slice.value % dcms.size();
    for (std::size_t step = 0; step < dcms.size(); ++step) {
      if (dcms[place].live) {
        return dcms[place].credits_free > 0 ? std::optional(index_of(place)) : std::nullopt;
      }
      if (++place == dcms.size()) place = 0;
    }
    return std::nullopt;
  }
};

}  // namespace

std::vector<std::string_view> policy_names() { return {"credits", "static"}; }

Expected<std::unique_ptr<AssignmentPolicy>, Failure> make_policy(std::string_view policy_name) {
  if (policy_name == "credits") return std::make_unique<CreditsPolicy>();
  if (policy_name == "static") return std::make_unique<StaticPolicy>();
  std::string known;
  for (const std::string_view each : policy_names()) known += (known.empty() ? "" : ", ") + std::string(each);
  return Unexpected<Failure>(
      Failure{AssignmentError::unknown_name,
              "assignment: unknown policy '" + std::string(policy_name) + "'; there are " + known});
}

}  // namespace weir::assignment
