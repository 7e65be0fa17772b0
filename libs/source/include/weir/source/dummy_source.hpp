#pragma once

#include <weir/source/dummy_content.hpp>
#include <weir/source/source.hpp>

#include <memory>

namespace weir::source {

// What the dummy sources of one process share: sizes, and the pattern of the run. One thread.
class DummyGroup {
 public:
  // Throws std::runtime_error that names the key when size_bytes_min is above size_bytes_max or sigma is
  // negative.
  DummyGroup(const DummySettings& settings, bool checksums);

  // The pattern of the run before stays, for fragments of it that are still on their way out.
  void begin_run(RunNumber run);
  // The fragment lives until the second begin_run() from now. Without a run before it: a bug.
  [[nodiscard]] Fragment produce(SourceId source, SliceId slice) const;

 private:
  DummySizes sizes_;
  bool checksums_;
  std::unique_ptr<const DummyContent> content_;
  std::unique_ptr<const DummyContent> content_before_;
};

// A fragment is a reference into the group's pattern: making one costs a hash, and the CRC32C if that is on.
class DummySource final : public Source {
 public:
  DummySource(SourceId id, std::shared_ptr<DummyGroup> group) : id_(id), group_(std::move(group)) {}

  [[nodiscard]] SourceId id() const override { return id_; }
  void begin_run(RunNumber run) override { group_->begin_run(run); }
  [[nodiscard]] Fragment produce(const Trigger& trigger) override {
    return group_->produce(id_, trigger.slice);
  }

 private:
  SourceId id_;
  std::shared_ptr<DummyGroup> group_;
};

}  // namespace weir::source
