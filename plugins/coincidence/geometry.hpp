#pragma once

#include <weir/emulation/detector.hpp>

#include <cstdint>
#include <istream>
#include <string>
#include <unordered_map>
#include <vector>

namespace coincidence {

// Where the hits of a source come from.
struct SourcePlace {
  std::uint32_t source = 0;
  std::uint32_t floor = 0;        // index into Geometry::floors
  std::uint32_t first_delay = 0;  // of channel 0, in Geometry::delays_ns
  std::uint32_t channels = 0;     // with a delay; 0: unknown, and no delay
};

// The trigger's description of the detector: the sources of each floor, and the floors' positions. Sources
// with hits of several channels (photomultipliers) count each channel as a separate module.
struct Geometry {
  std::vector<weir::emulation::Vector3> floors;  // m, the mean of the floor's sources
  std::vector<SourcePlace> sources;              // sorted by source
  std::vector<std::uint32_t> delays_ns;          // added to the times of a channel's hits

  [[nodiscard]] double longest_distance_m() const;
};

// The detector of the `hits` source.
[[nodiscard]] Geometry geometry_of(const weir::emulation::Detector& detector);

// Reads a geometry file, either KM3NeT's detx (detx.hpp), known by its first line of two words, or one source
// a line: source, floor (any number that its neighbours share), x, y, z in m, separated by blanks. Empty
// lines and lines that begin with # are ignored. Errors: std::invalid_argument with `name` and the line's
// number.
[[nodiscard]] Geometry read_geometry(std::istream& in, const std::string& name);

}  // namespace coincidence
