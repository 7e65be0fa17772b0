#include <weir/base/assert.hpp>
#include <weir/reports/loss_watch.hpp>

#include <algorithm>

namespace weir::reports {
namespace {

std::string_view name(LossWatch::Stage stage) {
  if (stage == LossWatch::Stage::packets) return "packets";
  return stage == LossWatch::Stage::pieces ? "pieces" : "fragments";
}

void name_the_rest(std::vector<std::string>& sentences, std::size_t found) {
  WEIR_ASSERT(sentences.size() <= found);
  if (found > sentences.size())
    sentences.push_back("and " + std::to_string(found - sentences.size()) + " more sources lose as much");
}

}  // namespace

std::uint64_t LossWatch::Tally::lost_in_all() const {
  std::uint64_t sum = 0;
  for (const auto& [reason, count] : lost) sum += count;
  return sum;
}

void LossWatch::begin_run() { tallies_.clear(); }

std::uint64_t& LossWatch::lost_for(Tally& tally, std::string_view reason) {
  if (const auto known = tally.lost.find(reason); known != tally.lost.end()) return known->second;
  WEIR_ASSERT(tally.lost.size() <= kReasonsMax + 1);  // "other" is one more
  return tally.lost[std::string(tally.lost.size() < kReasonsMax ? reason : "other")];
}

void LossWatch::add(SourceId source, Stage stage, std::uint64_t reached, std::uint64_t lost,
                    std::string_view reason) {
  Tally& tally = tallies_[{source, stage}];
  tally.reached += reached;
  if (lost > 0) lost_for(tally, reason) += lost;
}

void LossWatch::set_reached(SourceId source, Stage stage, std::uint64_t reached) {
  tallies_[{source, stage}].reached = reached;
}

void LossWatch::set_lost(SourceId source, Stage stage, std::string_view reason, std::uint64_t lost) {
  lost_for(tallies_[{source, stage}], reason) = lost;
}

void LossWatch::clear(SourceId source, Stage stage) {
  const auto known = tallies_.find({source, stage});
  if (known == tallies_.end()) return;
  known->second.reached = 0;
  known->second.lost.clear();
}

bool LossWatch::is_too_much(const Tally& tally) const {
  const std::uint64_t lost = tally.lost_in_all();
  return lost >= kLostMin && static_cast<double>(lost) > share_max_ * static_cast<double>(tally.reached);
}

std::string LossWatch::describe(const Key& key, const Tally& tally) {
  std::vector<std::pair<std::uint64_t, std::string>> reasons;
  for (const auto& [reason, count] : tally.lost) {
    if (count > 0) reasons.emplace_back(count, reason);
  }
  std::sort(reasons.rbegin(), reasons.rend());
  const bool none = key.first == kNoSource;
  std::string text = none ? "" : "source " + std::to_string(key.first.value) + ": ";
  text += std::to_string(tally.lost_in_all()) + " of " + std::to_string(tally.reached) + " ";
  const std::string reached =
      std::string(name(key.second)) + " that reached " + (none ? "the readout" : "it");
  switch (key.second) {
    case Stage::packets:
    case Stage::fragments:
    case Stage::pieces:
      text += reached + " were thrown away (";
      break;
    case Stage::contents:
      text += reached + " are damaged (";
      break;
    case Stage::made:
      text += "fragments could not be made (";
      break;
    case Stage::missing:
      text += "requested fragments are missing (";
      break;
  }
  for (const auto& [count, reason] : reasons)
    text += (text.back() == '(' ? "" : ", ") + reason + " " + std::to_string(count);
  WEIR_ASSERT(!reasons.empty());
  return text + ")";
}

std::vector<std::string> LossWatch::take_news() {
  std::vector<std::string> news;
  std::size_t found = 0;
  for (auto& [key, tally] : tallies_) {
    if (tally.told || !is_too_much(tally)) continue;
    tally.told = true;
    if (found++ < kNamedMax) news.push_back(describe(key, tally));
  }
  name_the_rest(news, found);
  return news;
}

std::vector<std::string> LossWatch::faults() const {
  std::vector<std::pair<std::uint64_t, const std::pair<const Key, Tally>*>> worst;
  for (const auto& one : tallies_) {
    if (is_too_much(one.second)) worst.emplace_back(one.second.lost_in_all(), &one);
  }
  std::sort(worst.begin(), worst.end(), [](const auto& a, const auto& b) {
    return a.first != b.first ? a.first > b.first : a.second->first < b.second->first;
  });
  std::vector<std::string> sentences;
  for (std::size_t i = 0; i < std::min(worst.size(), kNamedMax); ++i)
    sentences.push_back(describe(worst[i].second->first, worst[i].second->second));
  name_the_rest(sentences, worst.size());
  return sentences;
}

}  // namespace weir::reports
