#include "learning_policy.hpp"
#include <weir/assignment/policy.hpp>
#include <weir/base/assert.hpp>

#include <algorithm>
#include <numeric>
#include <string>

namespace weir::assignment {
namespace {

NodeIndex index_of(std::size_t place) { return NodeIndex(static_cast<std::uint16_t>(place)); }

// A DCM gets no more slices of a round than in turn, but in sequence: it requests them together, and a
// readout answers with fewer and longer blocks.
class CreditsPolicy final : public AssignmentPolicy {
 public:
  std::string_view name() const override { return "credits"; }
  void begin_round(std::size_t waiting, std::span<const DcmView> dcms) override {
    std::size_t credits = 0;
    std::size_t open = 0;
    for (const DcmView& dcm : dcms) {
      credits += dcm.credits_free;
      open += dcm.credits_free > 0 ? 1 : 0;
    }
    run_ = open == 0 ? 1 : std::clamp<std::size_t>(std::min(waiting, credits) / open, 1, kRunMax);
    left_ = 0;
  }
  std::optional<NodeIndex> choose(SliceId, std::span<const DcmView> dcms, TimeNs) override {
    if (left_ > 0 && last_ < dcms.size() && dcms[last_].credits_free > 0) {
      --left_;
      return index_of(last_);
    }
    for (std::size_t step = 0; step < dcms.size(); ++step) {
      if (++last_ >= dcms.size()) last_ = 0;
      if (dcms[last_].credits_free == 0) continue;
      left_ = run_ - 1;
      return index_of(last_);
    }
    return std::nullopt;
  }

 private:
  static constexpr std::size_t kRunMax = 16;  // beyond, a block of 1 KiB fragments is full

  std::size_t last_ = SIZE_MAX - 1;
  std::size_t run_ = 1;
  std::size_t left_ = 0;  // slices of the run
};

class StaticPolicy final : public AssignmentPolicy {
 public:
  std::string_view name() const override { return "static"; }
  std::optional<NodeIndex> choose(SliceId slice, std::span<const DcmView> dcms, TimeNs) override {
    if (dcms.empty()) return std::nullopt;
    std::size_t place = slice.value % dcms.size();
    for (std::size_t step = 0; step < dcms.size(); ++step) {
      if (dcms[place].live && !dcms[place].closed) {
        return dcms[place].credits_free > 0 ? std::optional(index_of(place)) : std::nullopt;
      }
      if (++place == dcms.size()) place = 0;
    }
    return std::nullopt;
  }
};

class SchedulePolicy final : public AssignmentPolicy {
 public:
  explicit SchedulePolicy(std::vector<std::uint32_t> weights) : weights_(std::move(weights)) {}
  std::string_view name() const override { return "schedule-table"; }
  std::optional<NodeIndex> choose(SliceId, std::span<const DcmView> dcms, TimeNs) override {
    if (places_ != dcms.size()) make_table(dcms.size());
    for (std::size_t step = 0; step < table_.size(); ++step) {
      const std::size_t place = table_[next_];
      if (++next_ == table_.size()) next_ = 0;
      if (dcms[place].credits_free > 0) return index_of(place);
    }
    return std::nullopt;
  }

 private:
  static constexpr std::uint64_t kRowsMax = 65536;  // beyond, the weights are scaled down

  // Each row goes to the DCM that is furthest behind its share: so the turns of each are spread evenly.
  void make_table(std::size_t places) {
    places_ = places;
    next_ = 0;
    table_.clear();
    weights_.resize(std::max(weights_.size(), places), 1);
    std::vector<std::uint32_t> weights(weights_.begin(),
                                       weights_.begin() + static_cast<std::ptrdiff_t>(places));
    std::uint32_t divisor = 0;
    for (const std::uint32_t weight : weights) divisor = std::gcd(divisor, weight);
    std::uint64_t rows =
        std::accumulate(weights.begin(), weights.end(), std::uint64_t{0}) / std::max(divisor, 1U);
    const std::uint64_t shrink = std::max<std::uint64_t>(1, (rows + kRowsMax - 1) / kRowsMax);
    for (std::uint32_t& weight : weights)
      weight = std::max(1U, static_cast<std::uint32_t>(weight / std::max(divisor, 1U) / shrink));
    rows = std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
    std::vector<std::int64_t> behind(places, 0);
    WEIR_ASSERT(rows >= places);  // each DCM has a place
    for (std::uint64_t row = 0; row < rows; ++row) {
      for (std::size_t i = 0; i < places; ++i) behind[i] += weights[i];
      const auto most = std::max_element(behind.begin(), behind.end());
      *most -= static_cast<std::int64_t>(rows);
      table_.push_back(static_cast<std::uint16_t>(most - behind.begin()));
    }
  }

  std::vector<std::uint32_t> weights_;
  std::vector<std::uint16_t> table_;
  std::size_t places_ = 0;
  std::size_t next_ = 0;
};

class LeastLoadedPolicy final : public AssignmentPolicy {
 public:
  std::string_view name() const override { return "least-loaded"; }
  std::optional<NodeIndex> choose(SliceId, std::span<const DcmView> dcms, TimeNs) override {
    std::optional<std::size_t> best;
    decided_.resize(std::max(decided_.size(), dcms.size()));
    for (std::size_t step = 1; step <= dcms.size(); ++step) {
      const std::size_t place = (last_ + step) % dcms.size();
      if (dcms[place].credits_free == 0) continue;
      if (!best || better(dcms, place, *best)) best = place;
    }
    if (!best) return std::nullopt;
    last_ = *best;
    return index_of(*best);
  }
  void decided(NodeIndex dcm, std::uint32_t, DurationNs, TimeNs) override {
    if (dcm.value < decided_.size()) ++decided_[dcm.value];
    if (++since_halved_ < kRememberedDecisions) return;
    since_halved_ = 0;
    for (std::uint32_t& count : decided_) count /= 2;
  }

 private:
  static constexpr std::uint32_t kRememberedDecisions = 1024;

  bool better(std::span<const DcmView> dcms, std::size_t one, std::size_t other) const {
    const std::uint64_t load = std::uint64_t{dcms[one].in_use()} * dcms[other].credits;
    const std::uint64_t other_load = std::uint64_t{dcms[other].in_use()} * dcms[one].credits;
    return load != other_load ? load < other_load : decided_[one] > decided_[other];
  }

  std::vector<std::uint32_t> decided_;  // recent decisions
  std::uint32_t since_halved_ = 0;
  std::size_t last_ = 0;
};

}  // namespace

std::vector<std::string_view> policy_names() {
  return {"credits", "static", "schedule-table", "least-loaded", "learning"};
}

Expected<std::unique_ptr<AssignmentPolicy>, AssignmentFailure> make_policy(const PolicySettings& settings) {
  if (settings.name == "credits") return std::make_unique<CreditsPolicy>();
  if (settings.name == "static") return std::make_unique<StaticPolicy>();
  if (settings.name == "least-loaded") return std::make_unique<LeastLoadedPolicy>();
  if (settings.name == "learning") return std::make_unique<LearningPolicy>();
  if (settings.name == "schedule-table") {
    if (std::find(settings.weights.begin(), settings.weights.end(), 0U) != settings.weights.end()) {
      return Unexpected<AssignmentFailure>(AssignmentFailure{
          AssignmentError::bad_setting, "assignment: a weight of the schedule table is 0; the least is 1"});
    }
    return std::make_unique<SchedulePolicy>(settings.weights);
  }
  std::string known;
  for (const std::string_view each : policy_names()) known += (known.empty() ? "" : ", ") + std::string(each);
  return Unexpected<AssignmentFailure>(
      AssignmentFailure{AssignmentError::unknown_name,
                        "assignment: unknown policy '" + settings.name + "'; there are " + known});
}

Expected<std::unique_ptr<AssignmentPolicy>, AssignmentFailure> make_policy(std::string_view policy_name) {
  return make_policy(PolicySettings{std::string(policy_name), {}});
}

}  // namespace weir::assignment
