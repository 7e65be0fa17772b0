#include "findings.hpp"

#include <algorithm>
#include <array>

namespace weir::control {
namespace {

constexpr std::string_view kVetoed = "vetoed.";
constexpr double kGraveShare = 0.5;

struct RefusalWords {
  std::string_view reason;
  std::string_view meaning;
};
constexpr std::array<RefusalWords, 6> kRefusals = {{
    {"duplicate_id",
     "the front-end repeats numbers: it was restarted, or sends twice; continue after its last number, or "
     "begin a new run"},
    {"bad_id", "the front-end's slice numbers are larger than a slice number may be"},
    {"too_large", "the front-end's trigger payload is longer than a trigger's payload may be"},
    {"closed", "triggers arrive from outside, but trigger.mode of this run accepts none"},
    {"id_memory_full",
     "the front-end's slice numbers have more gaps than the supervisor stores: number slices without gaps"},
    {"not_ascending", "the front-end's slice numbers go back, and in this farm they have to ascend"},
}};

const RefusalWords* words_of(std::string_view what) {
  if (!what.starts_with(kVetoed)) return nullptr;
  const auto found = std::find_if(kRefusals.begin(), kRefusals.end(), [&](const RefusalWords& one) {
    return one.reason == what.substr(kVetoed.size());
  });
  return found == kRefusals.end() ? nullptr : &*found;
}

}  // namespace

bool is_refusal(std::string_view veto) {
  return words_of(std::string(kVetoed) + std::string(veto)) != nullptr;
}

void refused_triggers(const HealthView& view, Findings& out) {
  const auto offered = std::find_if(view.lost.begin(), view.lost.end(),
                                    [](const LostLately& one) { return one.what == kOffered; });
  for (const LostLately& one : view.lost) {
    const RefusalWords* words = words_of(one.what);
    if (words == nullptr || one.count == 0) continue;
    const std::uint64_t of = std::max(one.count, offered == view.lost.end() ? 0 : offered->count);
    const double share = static_cast<double>(one.count) / static_cast<double>(of);
    out.push_back({share >= kGraveShare ? Gravity::error : Gravity::warning, "triggers refused",
                   std::to_string(one.count) + " of " + std::to_string(of) + " in the last " +
                       whole_seconds(RunProgress::kWindow) + " (" + std::string(words->reason) +
                       "): " + std::string(words->meaning)});
  }
}

}  // namespace weir::control
