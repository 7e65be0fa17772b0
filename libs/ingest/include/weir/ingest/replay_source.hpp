#pragma once

#include <weir/ingest/recorded_run.hpp>
#include <weir/source/source.hpp>

#include <memory>
#include <vector>

namespace weir::ingest {

// Returns one source's recorded fragments, by reference. If looped, slice k of the run is recorded slice k
// mod n; otherwise it is the k-th, and slices after the last one are empty. A slice without this source is
// missing (not_produced). The CRC32C is the recorded one, or is computed when a fragment is first used.
class ReplaySource final : public source::FragmentSource {
 public:
  ReplaySource(SourceId id, std::shared_ptr<const RecordedRun> run, bool loop, bool checksums);

  [[nodiscard]] SourceId id() const override { return id_; }
  void begin_run(RunNumber) override {}
  [[nodiscard]] source::SourceFragment produce(const source::Trigger& trigger) override;

 private:
  SourceId id_;
  std::shared_ptr<const RecordedRun> run_;
  bool loop_;
  bool checksums_;
  std::vector<RecordedFragment> fragments_;  // one per recorded slice
};

}  // namespace weir::ingest
