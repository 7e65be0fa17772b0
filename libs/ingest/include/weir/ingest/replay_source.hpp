#pragma once

#include <weir/ingest/recorded_run.hpp>
#include <weir/source/source.hpp>

#include <memory>
#include <vector>

namespace weir::ingest {

// Gives what one source recorded, by reference: slice k of the run is recorded slice k mod n when looped;
// otherwise slice k is the k-th, and there is nothing behind the last one. A slice that the source is not in
// is missing, not_produced. CRC32C: as recorded, or computed when a fragment is first given out.
class ReplaySource final : public source::Source {
 public:
  ReplaySource(SourceId id, std::shared_ptr<const RecordedRun> run, bool loop, bool checksums);

  [[nodiscard]] SourceId id() const override { return id_; }
  void begin_run(RunNumber) override {}
  [[nodiscard]] source::Fragment produce(const source::Trigger& trigger) override;

 private:
  SourceId id_;
  std::shared_ptr<const RecordedRun> run_;
  bool loop_;
  bool checksums_;
  std::vector<RecordedFragment> fragments_;  // one per recorded slice
};

}  // namespace weir::ingest
