#include "slip_board.hpp"

#include <algorithm>
#include <utility>

namespace weir::supervisor {

Expected<void, slice_codec::BadRow> SlipBoard::take(NodeIndex readout, const v1::OutOfStep& message) {
  std::set<std::uint32_t> seen;
  for (int i = 0; i < message.sources_size(); ++i) {
    const std::uint32_t source = message.sources(i).source();
    const auto known = settings_.readout_of.find(source);
    if (known == settings_.readout_of.end() || known->second != readout || !seen.insert(source).second)
      return Unexpected<slice_codec::BadRow>({"OutOfStep", "sources", static_cast<std::size_t>(i)});
  }
  std::vector<std::uint32_t>& listed = listed_[readout];
  for (const std::uint32_t source : listed) found_.erase(source);
  listed.assign(seen.begin(), seen.end());
  for (const v1::OutOfStep::Source& one : message.sources()) {
    found_[one.source()] = {SourceId(one.source()), one.slip(), SliceId(one.since_slice()), one.by_time()};
  }
  judge();
  return {};
}

void SlipBoard::judge() {
  std::vector<SourceId> compared;
  std::vector<steps::Slipped> slipped;
  for (const auto& [source, one] : found_) {
    compared.push_back(one.source);
    if (one.slip != 0 || one.by_time) slipped.push_back(one);
  }
  std::ranges::sort(compared);
  std::ranges::sort(slipped, {}, &steps::Slipped::source);
  steps::Judgement judgement = steps::judge(compared, slipped);
  if (judgement == judgement_) return;
  judgement_ = std::move(judgement);
  changed_ = true;
  verdict_.Clear();
  v1::StepVerdict& verdict = *verdict_.mutable_step_verdict();
  using Settings = v1::BuildSettings;
  for (const steps::Slipped& one : judgement_.named) {
    v1::StepVerdict::Source& row = *verdict.add_sources();
    row.set_source(one.source.value);
    row.set_slip(one.slip);
    row.set_since_slice(one.since.value);
    row.set_by_time(one.by_time);
    row.set_masked(settings_.policy == Settings::ON_OUT_OF_STEP_MASK && !judgement_.triggers);
    row.set_realigned(settings_.policy == Settings::ON_OUT_OF_STEP_REALIGN && !judgement_.triggers &&
                      one.slip != 0);
    if (told_.size() >= kSentencesMax) continue;
    if (std::string text = sentence_of(one); told_.insert(text).second) news_.push_back(std::move(text));
  }
}

std::string SlipBoard::sentence_of(const steps::Slipped& one) const {
  constexpr std::uint64_t kFirstOnes = 32;  // of which some may be lost
  const std::string text = steps::sentence(one);
  if (!settings_.first_number || one.slip <= 0) return text;
  const std::uint64_t number = one.since.value - static_cast<std::uint64_t>(one.slip);
  const bool again = static_cast<std::uint64_t>(one.slip) > kFirstOnes &&
                     number - settings_.first_number->value < kFirstOnes;
  return text + (again ? ": its counter began again" : "");
}

std::vector<std::string> SlipBoard::take_news() { return std::exchange(news_, {}); }

std::string SlipBoard::why_stop() const {
  if (settings_.policy != v1::BuildSettings::ON_OUT_OF_STEP_STOP || judgement_.named.empty()) return {};
  return sentence_of(judgement_.named.front()) + " (build.on_out_of_step: stop)";
}

}  // namespace weir::supervisor
