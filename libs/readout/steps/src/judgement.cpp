#include <weir/steps/judgement.hpp>

#include <algorithm>

namespace weir::steps {
namespace {

constexpr std::size_t kMajority = 2;  // sources that slip alike, to name another one for it

}  // namespace

Judgement judge(std::span<const SourceId> compared, std::span<const Slipped> slipped) {
  Judgement judgement{{slipped.begin(), slipped.end()}, false};
  if (slipped.size() < kMajority || slipped.size() + 1 < compared.size()) return judgement;
  const Slipped& first = slipped.front();
  const bool alike = first.slip != 0 && std::ranges::all_of(slipped, [&](const Slipped& one) {
                       return one.slip == first.slip && one.by_time == first.by_time;
                     });
  if (!alike) return judgement;
  if (slipped.size() >= compared.size()) {
    judgement.triggers = true;
    return judgement;
  }
  const auto in_step = std::ranges::find_if(compared, [&](SourceId source) {
    return std::ranges::none_of(slipped, [&](const Slipped& one) { return one.source == source; });
  });
  const SliceId since = std::ranges::min_element(slipped, {}, &Slipped::since)->since;
  if (in_step != compared.end())
    judgement.named = {
        {*in_step, static_cast<std::int64_t>(-static_cast<std::uint64_t>(first.slip)), since, first.by_time}};
  return judgement;
}

std::string sentence(const Slipped& one) {
  std::string text = "source " + std::to_string(one.source.value) + " out of step ";
  if (one.slip == 0) {
    text += "in time";
  } else {
    text += "by " + std::to_string(one.slip);
  }
  return text + " since slice " + std::to_string(one.since.value);
}

std::string sentences(std::span<const Slipped> all, std::size_t most) {
  std::string text;
  for (std::size_t i = 0; i < std::min(most, all.size()); ++i)
    text += (i == 0 ? "" : ", ") + sentence(all[i]);
  if (all.size() > most) text += " and " + std::to_string(all.size() - most) + " more";
  return text;
}

}  // namespace weir::steps
