#pragma once

#include <weir/ingest/recorded_run.hpp>
#include <weir/source/source.hpp>

#include <memory>
#include <optional>
#include <vector>

namespace weir::ingest {

// Which recorded slice of n a slice of the run is.
enum class ReplayOrder : std::uint8_t {
  looped,     // slice k is the k mod n-th
  once,       // slice k is the k-th
  by_number,  // the one with the same id
};

// Returns one source's recorded fragments, by reference: of the slice that ReplayOrder says. A slice without
// this source, or none of the recording, is missing (not_produced). The CRC32C is the recorded one, or is
// computed when a fragment is first used.
class ReplaySource final : public source::FragmentSource {
 public:
  ReplaySource(SourceId id, std::shared_ptr<const RecordedRun> run, ReplayOrder order, bool checksums);

  [[nodiscard]] SourceId id() const override { return id_; }
  void begin_run(RunNumber) override {}
  [[nodiscard]] source::SourceFragment produce(const source::Trigger& trigger) override;

 private:
  SourceId id_;
  std::shared_ptr<const RecordedRun> run_;
  [[nodiscard]] std::optional<std::size_t> place_of(SliceId slice) const;

  ReplayOrder order_;
  bool checksums_;
  std::vector<RecordedFragment> fragments_;  // one per recorded slice
};

}  // namespace weir::ingest
