#pragma once

#include <weir/emulation/dummy_content.hpp>
#include <weir/emulation/slip.hpp>
#include <weir/source/source.hpp>

#include <memory>

namespace weir::emulation {

// The common part of a process' dummy sources: sizes, and the pattern of the run. Not thread-safe.
class DummyGroup {
 public:
  // Throws std::runtime_error that names the key if size_bytes_min is above size_bytes_max or sigma is
  // negative.
  DummyGroup(const DummySettings& settings, bool checksums);

  // The previous run's pattern is kept, for fragments of it that are still being sent.
  void begin_run(RunNumber run);
  // Returns a fragment that is valid until the second begin_run() from now. Requires: begin_run() was called
  // (asserted).
  [[nodiscard]] source::SourceFragment produce(SourceId source, SliceId slice) const;

 private:
  DummySizes sizes_;
  bool checksums_;
  std::unique_ptr<const DummyContent> content_;
  std::unique_ptr<const DummyContent> content_before_;
};

// A fragment is a reference into the group's pattern: making one costs a hash, plus the CRC32C if that is on.
class DummySource final : public source::FragmentSource {
 public:
  DummySource(SourceId id, std::shared_ptr<DummyGroup> group) : id_(id), group_(std::move(group)) {}

  [[nodiscard]] SourceId id() const override { return id_; }
  void begin_run(RunNumber run) override { group_->begin_run(run); }
  [[nodiscard]] source::SourceFragment produce(const source::Trigger& trigger) override {
    return group_->produce(id_, trigger.slice);
  }

  [[nodiscard]] Stamp stamp(const source::Trigger& trigger) const override { return stamp_in_step(trigger); }

 private:
  SourceId id_;
  std::shared_ptr<DummyGroup> group_;
};

}  // namespace weir::emulation
