#include <weir/config/node_farm.hpp>
#include <weir/config/replayed_recording.hpp>

namespace weir::config {

std::optional<ReplayedRecording> replayed_recording(const v1::Farm& farm) {
  using Trigger = v1::TriggerSettings;
  const auto mode = farm.trigger().mode();
  if (mode != Trigger::MODE_MAX && mode != Trigger::MODE_RATE && mode != Trigger::MODE_POISSON) return {};
  const NodeFarms farms(farm);
  const int entries = farm.readout().nodes_size();
  std::optional<ReplayedRecording> found;
  for (int entry = entries == 0 ? kNoEntry : 0; entry < entries; ++entry) {
    const v1::Farm here = farms.of(Role::readout, entry).farm;
    if (here.source().kind() != v1::SourceSettings::KIND_REPLAY) return {};
    const ReplayedRecording one{here.replay().path(), !here.replay().loop()};
    if (found && (found->path != one.path || found->by_number != one.by_number)) return {};
    found = one;
  }
  return found;
}

}  // namespace weir::config
