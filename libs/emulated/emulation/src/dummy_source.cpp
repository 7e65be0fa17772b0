#include <weir/base/assert.hpp>
#include <weir/base/crc32c.hpp>
#include <weir/emulation/dummy_source.hpp>

#include <stdexcept>

namespace weir::emulation {
namespace {

const DummySettings& checked(const DummySettings& settings) {
  if (settings.size_bytes_min > settings.size_bytes_max) {
    throw std::runtime_error("dummy source: size_bytes_min (" + std::to_string(settings.size_bytes_min) +
                             ") is above size_bytes_max (" + std::to_string(settings.size_bytes_max) + ")");
  }
  if (!(settings.sigma >= 0)) throw std::runtime_error("dummy source: sigma must not be negative");
  return settings;
}

}  // namespace

DummyGroup::DummyGroup(const DummySettings& settings, bool checksums)
    : sizes_(checked(settings)), checksums_(checksums) {}

void DummyGroup::begin_run(RunNumber run) {
  if (content_ && content_->run() == run) return;
  content_before_ = std::move(content_);
  content_ = std::make_unique<const DummyContent>(run, sizes_.size_max());
}

source::SourceFragment DummyGroup::produce(SourceId source, SliceId slice) const {
  WEIR_ASSERT(content_ != nullptr);
  source::SourceFragment fragment;
  fragment.bytes = content_->fragment(source, slice, sizes_(source, slice));
  if (checksums_) fragment.crc32c = crc32c(fragment.bytes);
  return fragment;
}

}  // namespace weir::emulation
