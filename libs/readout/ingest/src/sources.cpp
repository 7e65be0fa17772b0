#include <weir/emulation/dummy_source.hpp>
#include <weir/emulation/hits_source.hpp>
#include <weir/emulation/hits_window.hpp>
#include <weir/ingest/sources.hpp>

#include <algorithm>
#include <stdexcept>
#include <unordered_map>

namespace weir::ingest {
namespace {

using SourceList = std::vector<std::unique_ptr<source::FragmentSource>>;

[[noreturn]] void not_there(SourceId source, const std::string& where) {
  throw std::runtime_error("source " + std::to_string(source.value) + " is not in " + where);
}

std::shared_ptr<const RecordedRun> recorded(const ReplaySettings& settings) {
  auto run = load_recorded_run(settings.path, settings.limits);
  if (!run) throw std::runtime_error("replay: " + run.error().detail);
  return *run;
}

SourceList make_dummy(const SourceSettings& settings, std::span<const SourceId> ids) {
  using Group = std::shared_ptr<emulation::DummyGroup>;
  const Group common = std::make_shared<emulation::DummyGroup>(settings.dummy, settings.checksums);
  std::unordered_map<SourceId, Group> others;
  for (const SourceSettings::OtherSizes& other : settings.other_sizes) {
    const Group group = std::make_shared<emulation::DummyGroup>(other.dummy, settings.checksums);
    for (const SourceId id : other.sources) others.emplace(id, group);
  }
  SourceList list;
  for (const SourceId id : ids) {
    const auto other = others.find(id);
    list.push_back(
        std::make_unique<emulation::DummySource>(id, other == others.end() ? common : other->second));
  }
  return list;
}

SourceList make_hits(const SourceSettings& settings, std::span<const SourceId> ids) {
  const auto group = std::make_shared<emulation::HitsGroup>(settings.hits, settings.checksums);
  const emulation::Detector& detector = group->detector();
  SourceList list;
  for (const SourceId id : ids) {
    if (!detector.contains(id)) {
      not_there(id, "the detector, which has " + std::to_string(detector.modules()) + " from " +
                        std::to_string(detector.first_source().value) + " on");
    }
    if (settings.windows) {
      list.push_back(std::make_unique<emulation::HitsWindowSource>(id, group, *settings.windows));
    } else {
      list.push_back(std::make_unique<emulation::HitsSource>(id, group));
    }
  }
  return list;
}

SourceList make_replay(const SourceSettings& settings, std::span<const SourceId> ids,
                       std::vector<RecordedFile>* read) {
  const auto run = recorded(settings.replay);
  if (read != nullptr) *read = run->files;
  SourceList list;
  for (const SourceId id : ids) {
    if (!std::binary_search(run->sources.begin(), run->sources.end(), id)) {
      not_there(id, "the recorded data at " + settings.replay.path);
    }
    list.push_back(std::make_unique<ReplaySource>(id, run, settings.replay.order, settings.checksums));
  }
  return list;
}

}  // namespace

SourceList make_sources(const SourceSettings& settings, std::span<const SourceId> sources,
                        std::vector<RecordedFile>* read) {
  switch (settings.kind) {
    case SourceKind::hits:
      return make_hits(settings, sources);
    case SourceKind::replay:
      return make_replay(settings, sources, read);
    case SourceKind::dummy:
      break;
  }
  return make_dummy(settings, sources);
}

}  // namespace weir::ingest
