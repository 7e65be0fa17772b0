#include "field_value.hpp"
#include "schema.hpp"
#include "validation.hpp"
#include "yaml_tree.hpp"

#include <set>
#include <string>

namespace weir::config {
namespace {

// Checks the sizes of all sources, or of some, at the key `at`.
template <class Sizes>
void check_sizes(Validation& found, const Sizes& sizes, const std::string& at) {
  const std::uint64_t least = sizes.size_bytes_min();
  const std::uint64_t most = sizes.size_bytes_max();
  if (least > most) {
    return found.inconsistent(at + ".size_bytes_min",
                              print_size(least) + " is above " + at + ".size_bytes_max, " + print_size(most));
  }
  const bool mean_counts = sizes.distribution() != v1::SourceSettings::DISTRIBUTION_UNIFORM;
  if (mean_counts && (sizes.size_bytes() < least || sizes.size_bytes() > most)) {
    found.inconsistent(at + ".size_bytes", print_size(sizes.size_bytes()) + " is outside of " + at +
                                               ".size_bytes_min to " + at + ".size_bytes_max, " +
                                               print_size(least) + " to " + print_size(most));
  }
}

void check_known(Validation& found, const std::set<SourceId>& known,
                 const google::protobuf::RepeatedField<std::uint32_t>& sources, const std::string& key) {
  std::set<std::uint32_t> seen;
  for (int i = 0; i < sources.size(); ++i) {
    const std::string entry = key + "[" + std::to_string(i) + "]";
    const std::string number = std::to_string(sources[i]);
    if (known.count(SourceId(sources[i])) == 0) found.inconsistent(entry, "unknown source " + number);
    if (!seen.insert(sources[i]).second) found.warn(entry, "source " + number + " is listed twice");
  }
}

}  // namespace

void check_hits(Validation& found) {
  const v1::TriggerSettings& trigger = found.farm().trigger();
  // A hit has 32 bits for its time in ns.
  constexpr double kHitsSliceMsMax = 4294;
  if (found.here().source().kind() == v1::SourceSettings::KIND_HITS && trigger.slice_ms() > kHitsSliceMsMax) {
    found.inconsistent("trigger.slice_ms", print_number(trigger.slice_ms()) + " is above " +
                                               print_number(kHitsSliceMsMax) +
                                               ", the longest slice of source.kind 'hits'");
  }
}

void check_dummy_sizes(Validation& found) {
  using Source = v1::SourceSettings;
  const Source& source = found.here().source();
  if (source.kind() == Source::KIND_HITS || source.kind() == Source::KIND_REPLAY) return;
  check_sizes(found, source, "source");
  for (int i = 0; i < source.sizes_size(); ++i)
    check_sizes(found, source.sizes(i), list_entry("source.sizes", i));
}

void check_faults(Validation& found) {
  const v1::SourceSettings& source = found.here().source();
  const bool front_end =
      source.kind() == v1::SourceSettings::KIND_PLUGIN || source.kind() == v1::SourceSettings::KIND_UDP;
  if (front_end && source.faults_size() > 0)
    found.inconsistent("source.faults",
                       "faults on purpose are for emulated and recorded sources: 'dummy', 'hits', 'replay'");
  for (int i = 0; i < source.faults_size(); ++i) {
    const v1::SourceFaultsSettings& faults = source.faults(i);
    const std::string at = list_entry("source.faults", i);
    if (faults.silent_every_s() > 0 && faults.silent_for_s() > faults.silent_every_s())
      found.inconsistent(at + ".silent_for_s", print_number(faults.silent_for_s()) + " is above " + at +
                                                   ".silent_every_s, " +
                                                   print_number(faults.silent_every_s()));
    if (faults.corrupt() > 0 && !found.farm().run().checksums())
      found.warn(at + ".corrupt", "goes undetected without run.checksums");
  }
}

void check_front_end(Validation& found) {
  using Source = v1::SourceSettings;
  const Source& source = found.here().source();
  if (source.kind() != Source::KIND_PLUGIN && source.kind() != Source::KIND_UDP) return;
  if (source.kind() == Source::KIND_PLUGIN && source.plugin().empty()) {
    found.error(ProblemKind::missing_key, "source.plugin", "needed by source.kind 'plugin'");
  }
  if (source.kind() == Source::KIND_UDP && !source.plugin().empty()) {
    found.inconsistent("source.plugin",
                       "source.kind 'udp' names its plugin itself: leave this out, or set "
                       "source.kind to 'plugin'");
  }
  if (source.wait_ms() == 0 || source.wait_ms() >= found.farm().dcm().deadline_ms()) {
    found.warn("source.wait_ms", "a slice is given up after dcm.deadline_ms, " +
                                     std::to_string(found.farm().dcm().deadline_ms()) +
                                     " ms: a shorter wait shows which fragments are missing");
  }
  const v1::DcmSettings& dcm = found.farm().dcm();
  const bool too_long = source.wait_ms() == 0 || source.wait_ms() >= dcm.push_wait_ms();
  if (dcm.incomplete() == v1::DcmSettings::INCOMPLETE_ORDER && too_long) {
    found.warn("source.wait_ms", "should be below dcm.push_wait_ms, " + std::to_string(dcm.push_wait_ms()) +
                                     " ms: with dcm.incomplete 'order' a fragment that is lost costs its "
                                     "slice all data of its readout");
  }
}

void check_sources(Validation& found, const FarmPlan& plan) {
  const std::set<SourceId> known(plan.sources.begin(), plan.sources.end());
  check_known(found, known, found.farm().readout().masked(), "readout.masked");
  found.for_kinds(Role::dcm, found.farm().dcm().nodes_size(), [&] {
    check_known(found, known, found.here().filter().first_sources(), "filter.first_sources");
  });
  for (int i = 0; i < found.farm().trigger().types_size(); ++i) {
    check_known(found, known, found.farm().trigger().types(i).sources(),
                "trigger.types[" + std::to_string(i) + "].sources");
  }
  for (const NodeFarms::Kind& readouts : found.node_farms().kinds(plan, Role::readout)) {
    found.look_at(readouts.shared, [&] {
      const v1::SourceSettings& source = found.here().source();
      for (int i = 0; i < source.sizes_size(); ++i)
        check_known(found, known, source.sizes(i).sources(), list_entry("source.sizes", i) + ".sources");
      for (int i = 0; i < source.faults_size(); ++i)
        check_known(found, known, source.faults(i).sources(), list_entry("source.faults", i) + ".sources");
    });
  }
  if (!plan.sources.empty() && plan.masked.size() >= plan.sources.size()) {
    found.inconsistent("readout.masked", "every source is masked: there is nothing to build");
  }
}

ReplayContents recorded_by(Validation& found, const ReplayReader& replay) {
  if (found.here().source().kind() != v1::SourceSettings::KIND_REPLAY || !replay) return {};
  auto contents = replay(found.here().replay().path());
  if (contents) return std::move(*contents);
  found.error(ProblemKind::unreadable, "replay.path", contents.error());
  return {};
}

// Sources that are listed entry by entry have to exist in the detector or in the recorded data.
void check_listed_sources(Validation& found, const NodeFarms::Kind& readouts,
                          const ReplayContents& recorded) {
  using Source = v1::SourceSettings;
  const int entry = readouts.nodes.front()->entry;
  const bool replay = found.here().source().kind() == Source::KIND_REPLAY;
  if (entry == kNoEntry || (found.here().source().kind() != Source::KIND_HITS && !replay)) return;
  const std::set<SourceId> have(recorded.sources.begin(), recorded.sources.end());
  const v1::HitsSettings& hits = found.here().hits();
  const std::uint64_t modules =
      std::uint64_t{hits.strings()} * hits.floors_per_string() * hits.modules_per_floor();
  const std::uint64_t first = found.here().readout().first_source();
  const auto& sources = found.farm().readout().nodes(entry).sources();
  for (int i = 0; i < sources.size(); ++i) {
    const bool there =
        replay ? have.count(SourceId(sources[i])) != 0 : sources[i] >= first && sources[i] - first < modules;
    if (there) continue;
    found.inconsistent(
        list_entry(list_entry("readout.nodes", entry) + ".sources", i),
        replay ? in_quotes(found.here().replay().path()) + " holds no source " + std::to_string(sources[i])
               : "the detector has no source " + std::to_string(sources[i]) + ", only " +
                     std::to_string(first) + " to " + std::to_string(first + modules - 1));
  }
}

}  // namespace weir::config
