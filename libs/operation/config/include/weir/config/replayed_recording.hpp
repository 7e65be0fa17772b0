#pragma once

#include <weir/v1/farm.pb.h>

#include <optional>
#include <string>

namespace weir::config {

struct ReplayedRecording {
  std::string path;
  bool by_number = false;  // each recorded slice once, under its own number; otherwise slice k is k mod n
};

// Returns the one recording that this run repeats: all readouts replay it, and triggers have no numbers of
// their own (modes max, rate and poisson). nullopt: slices are described by their triggers alone.
// Requires: the whole farm, with its lists of nodes.
[[nodiscard]] std::optional<ReplayedRecording> replayed_recording(const v1::Farm& farm);

}  // namespace weir::config
