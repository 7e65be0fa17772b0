#include "detx.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace coincidence {
namespace {

using weir::emulation::Vector3;

constexpr std::size_t kChannelsMax = 128;  // a hit has 7 bits for its channel
constexpr std::uint32_t kVersionMax = 5;
constexpr std::uint32_t kFirstWithPlace = 4;  // with a position, rotation and time for each module

// Reads the file line by line, without comments and empty lines.
class Lines {
 public:
  Lines(std::istream& in, const std::string& name) : in_(in), name_(name) {}

  // The next line. Refuses a file that ends before `wanted`.
  std::istringstream next(const std::string& wanted) {
    while (std::getline(in_, line_)) {
      ++number_;
      const std::size_t text = line_.find_first_not_of(" \t\r");
      if (text != std::string::npos && line_[text] != '#') return std::istringstream(line_);
    }
    line_.clear();
    refuse("ends before " + wanted);
  }

  [[noreturn]] void refuse(const std::string& what) const {
    throw std::invalid_argument("geometry " + name_ + ", line " + std::to_string(number_) + ": '" + line_ +
                                "': " + what);
  }

 private:
  std::istream& in_;
  const std::string& name_;
  std::string line_;
  std::size_t number_ = 0;
};

struct Header {
  std::uint32_t version = 1;
  std::uint32_t modules = 0;
};

Header read_header(Lines& lines) {
  std::int64_t detector = 0;
  std::string second;
  std::istringstream first = lines.next("its first line");
  if (!(first >> detector >> second)) lines.refuse("is not: detector version");
  Header header;
  if (second.front() != 'v' && second.front() != 'V') {
    if (!(std::istringstream(second) >> header.modules)) lines.refuse("is not: detector modules");
    return header;
  }
  if (!(std::istringstream(second.substr(1)) >> header.version) || header.version < 2 ||
      header.version > kVersionMax) {
    lines.refuse("detx versions 1 to " + std::to_string(kVersionMax) + " are known");
  }
  (void)lines.next("its range of validity");
  (void)lines.next("its UTM line");
  if (!(lines.next("its number of modules") >> header.modules)) lines.refuse("is not a number of modules");
  return header;
}

struct Module {
  std::uint32_t id = 0;
  Vector3 at;
  std::size_t channels = 0;
};

Module read_module(Lines& lines, std::uint32_t version) {
  Module module;
  std::int64_t string = 0;
  std::int64_t floor = 0;
  std::istringstream fields = lines.next("all of its modules");
  fields >> module.id >> string >> floor;
  if (version >= kFirstWithPlace) {
    double skipped = 0;
    fields >> module.at.x >> module.at.y >> module.at.z;
    for (int i = 0; i < 5; ++i) fields >> skipped;     // the rotation's four numbers, the module's time
    if (version > kFirstWithPlace) fields >> skipped;  // its status
  }
  if (!(fields >> module.channels) || module.channels > kChannelsMax ||
      !std::isfinite(dot(module.at, module.at)))
    lines.refuse("is not a module of detx version " + std::to_string(version));
  return module;
}

}  // namespace

Geometry read_detx(std::istream& in, const std::string& name) {
  Lines lines(in, name);
  const Header header = read_header(lines);
  Geometry geometry;
  std::vector<double> times;
  for (std::uint32_t i = 0; i < header.modules; ++i) {
    Module module = read_module(lines, header.version);
    Vector3 sum;
    const auto first = static_cast<std::uint32_t>(times.size());
    for (std::size_t channel = 0; channel < module.channels; ++channel) {
      std::int64_t id = 0;
      Vector3 at;
      Vector3 direction;
      double time = 0;
      std::istringstream fields = lines.next("all channels of module " + std::to_string(module.id));
      if (!(fields >> id >> at.x >> at.y >> at.z >> direction.x >> direction.y >> direction.z >> time) ||
          !std::isfinite(dot(at, at)) || !std::isfinite(time))
        lines.refuse("is not a channel: id x y z dx dy dz t0");
      sum = sum + at;
      times.push_back(time);
    }
    if (module.channels == 0) continue;  // at the foot of a string: without hits
    if (header.version < kFirstWithPlace) module.at = sum * (1.0 / static_cast<double>(module.channels));
    geometry.sources.push_back({module.id, static_cast<std::uint32_t>(geometry.floors.size()), first,
                                static_cast<std::uint32_t>(module.channels)});
    geometry.floors.push_back(module.at);
  }
  if (times.empty()) throw std::invalid_argument("geometry " + name + " lists no channel");
  const double least = *std::min_element(times.begin(), times.end());
  for (const double time : times) {
    const double delay = std::round(time - least);
    if (delay > std::numeric_limits<std::int32_t>::max())
      throw std::invalid_argument("geometry " + name + ": times t0 differ by more than 2 s");
    geometry.delays_ns.push_back(static_cast<std::uint32_t>(delay));
  }
  return geometry;
}

}  // namespace coincidence
