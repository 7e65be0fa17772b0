#pragma once

#include <weir/base/ids.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weir::reports {

// Finds sources that lose more than a given share of their data, for any reason: of those that reach a
// readout or DCM, or of those that all DCMs requested. Not thread-safe.
class LossWatch {
 public:
  // `contents`: fragments that are kept, but with other bytes than their source's. `made`: fragments that the
  // source was asked for. `missing`: fragments that DCMs requested. `pieces`: data
  // with a time of their own, with build.by: time.
  enum class Stage : std::uint8_t { packets, fragments, contents, made, missing, pieces };
  static constexpr SourceId kNoSource = SourceId(UINT32_MAX);  // pieces without a known source
  static constexpr std::uint64_t kLostMin = 10;                // fewer are ignored, whatever their share
  static constexpr std::size_t kReasonsMax = 16;  // of one source and stage; further ones count as `other`
  static constexpr std::size_t kNamedMax = 8;     // sources in a list of sentences

  // `share_max` of 1: no loss is too high.
  explicit LossWatch(double share_max) : share_max_(share_max) {}
  void begin_run();

  // Adds pieces that reached a source, and pieces that were dropped for this reason.
  void add(SourceId source, Stage stage, std::uint64_t reached, std::uint64_t lost, std::string_view reason);
  // Sets the number of pieces that reached the source.
  void set_reached(SourceId source, Stage stage, std::uint64_t reached);
  // Sets the number of pieces dropped for this reason.
  void set_lost(SourceId source, Stage stage, std::string_view reason, std::uint64_t lost);

  // Removes the counts of the source at this stage, but not the note that it was reported.
  void clear(SourceId source, Stage stage);

  // Returns whether anything was counted for the source at this stage.
  [[nodiscard]] bool knows(SourceId source, Stage stage) const { return tallies_.contains({source, stage}); }

  // Returns a sentence for each source that has begun to lose too much since the last call; at most
  // kNamedMax, then the number of others.
  [[nodiscard]] std::vector<std::string> take_news();
  // The same for all sources that lose too much, those with the highest loss first.
  [[nodiscard]] std::vector<std::string> faults() const;

 private:
  struct Tally {
    std::uint64_t reached = 0;
    std::map<std::string, std::uint64_t, std::less<>> lost;  // by reason
    bool told = false;
    [[nodiscard]] std::uint64_t lost_in_all() const;
  };
  using Key = std::pair<SourceId, Stage>;
  [[nodiscard]] bool is_too_much(const Tally& tally) const;
  [[nodiscard]] static std::string describe(const Key& key, const Tally& tally);
  [[nodiscard]] static std::uint64_t& lost_for(Tally& tally, std::string_view reason);

  double share_max_;
  std::map<Key, Tally> tallies_;
};

}  // namespace weir::reports
