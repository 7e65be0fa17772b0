#include <weir/base/assert.hpp>
#include <weir/emulation/tracks.hpp>
#include <weir/run_record/truth.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <istream>
#include <optional>
#include <string>
#include <unordered_set>

namespace weir::run_record {
namespace {

std::optional<std::uint64_t> number(const boost::json::object& object, const char* key) {
  const auto* value = object.if_contains(key);
  if (value == nullptr) return std::nullopt;
  boost::system::error_code failed;
  const auto result = value->to_number<std::uint64_t>(failed);
  if (failed) return std::nullopt;
  return result;
}

std::vector<TruthComparison::Bin> empty_bins() {
  std::vector<TruthComparison::Bin> bins;
  for (const std::uint64_t start : emulation::kModuleBins) {
    if (!bins.empty()) bins.back().modules_max = start - 1;
    bins.push_back({start, UINT64_MAX, 0, 0});
  }
  return bins;
}

}  // namespace

TruthComparison compare_with_truth(std::istream& truth, RunNumber run,
                                   const std::vector<std::uint64_t>& stored) {
  WEIR_ASSERT(std::is_sorted(stored.begin(), stored.end()));
  TruthComparison comparison;
  comparison.bins = empty_bins();
  std::unordered_set<std::uint64_t> stored_with_track;
  for (std::string line; std::getline(truth, line);) {
    boost::system::error_code failed;
    const boost::json::value value = boost::json::parse(line, failed);
    const auto* object = failed ? nullptr : value.if_object();
    if (object == nullptr || number(*object, "run") != run.value) continue;
    const auto slice = number(*object, "slice");
    const auto modules = number(*object, "modules");
    if (!slice || !modules) continue;
    const bool kept = std::binary_search(stored.begin(), stored.end(), *slice);
    if (kept && *modules > 0) stored_with_track.insert(*slice);
    const auto bin = std::find_if(comparison.bins.begin(), comparison.bins.end(),
                                  [&](const auto& one) { return *modules <= one.modules_max; });
    WEIR_ASSERT(bin != comparison.bins.end());  // the last one has no upper bound
    ++comparison.tracks;
    ++bin->tracks;
    if (kept) ++bin->stored;
  }
  WEIR_ASSERT(stored_with_track.size() <= stored.size());
  comparison.stored_without_track = stored.size() - stored_with_track.size();
  std::erase_if(comparison.bins, [](const TruthComparison::Bin& bin) { return bin.tracks == 0; });
  return comparison;
}

}  // namespace weir::run_record
