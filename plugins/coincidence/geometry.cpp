#include "geometry.hpp"

#include "detx.hpp"

#include <algorithm>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace coincidence {

using weir::emulation::Vector3;

double Geometry::longest_distance_m() const {
  double longest = 0;
  for (std::size_t i = 0; i < floors.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j)
      longest = std::max(longest, weir::emulation::length(floors[i] - floors[j]));
  }
  return longest;
}

namespace {

// Divides sums of positions by how many went into each.
void average(Geometry& geometry, const std::vector<std::uint32_t>& sources_on_floor) {
  for (std::size_t i = 0; i < geometry.floors.size(); ++i) {
    geometry.floors[i] = geometry.floors[i] * (1.0 / sources_on_floor[i]);
  }
}

void sort_sources(Geometry& geometry) {
  std::sort(geometry.sources.begin(), geometry.sources.end(),
            [](const SourcePlace& a, const SourcePlace& b) { return a.source < b.source; });
}

bool is_text_line(const std::string& line) {
  const std::size_t text = line.find_first_not_of(" \t\r");
  return text != std::string::npos && line[text] != '#';
}

// A detx file begins with its detector and its version or number of modules: two words.
bool is_detx(std::istream& in) {
  std::string line;
  while (std::getline(in, line) && !is_text_line(line)) {
  }
  std::istringstream fields(line);
  std::string word;
  std::size_t words = 0;
  while (fields >> word) ++words;
  in.clear();
  in.seekg(0);
  return words == 2;
}

[[noreturn]] void refuse_line(const std::string& name, std::size_t number, const std::string& line) {
  std::ostringstream text;
  text << "geometry " << name << ", line " << number << ": '" << line << "' is not: source floor x y z";
  throw std::invalid_argument(text.str());
}

}  // namespace

Geometry geometry_of(const weir::emulation::Detector& detector) {
  Geometry geometry;
  std::vector<std::uint32_t> sources_on_floor;
  for (std::uint32_t i = 0; i < detector.modules(); ++i) {
    const weir::SourceId source(detector.first_source().value + i);
    const std::uint32_t floor = detector.floor_index(source);
    if (floor >= geometry.floors.size()) {
      geometry.floors.resize(floor + 1);
      sources_on_floor.resize(floor + 1);
    }
    geometry.floors[floor] = geometry.floors[floor] + detector.position(source);
    ++sources_on_floor[floor];
    geometry.sources.push_back({source.value, floor, 0, 0});
  }
  average(geometry, sources_on_floor);
  sort_sources(geometry);
  return geometry;
}

namespace {

Geometry read_lines(std::istream& in, const std::string& name) {
  Geometry geometry;
  std::vector<std::uint32_t> sources_on_floor;
  std::unordered_map<std::uint64_t, std::uint32_t> floor_indices;
  std::string line;
  for (std::size_t number = 1; std::getline(in, line); ++number) {
    if (!is_text_line(line)) continue;
    std::istringstream fields(line);
    std::uint32_t source = 0;
    std::uint64_t floor_name = 0;
    Vector3 at;
    std::string rest;
    if (!(fields >> source >> floor_name >> at.x >> at.y >> at.z) || (fields >> rest) ||
        !std::isfinite(dot(at, at))) {
      refuse_line(name, number, line);
    }
    const auto [found, fresh] =
        floor_indices.try_emplace(floor_name, static_cast<std::uint32_t>(geometry.floors.size()));
    if (fresh) {
      geometry.floors.emplace_back();
      sources_on_floor.push_back(0);
    }
    geometry.floors[found->second] = geometry.floors[found->second] + at;
    ++sources_on_floor[found->second];
    geometry.sources.push_back({source, found->second, 0, 0});
  }
  average(geometry, sources_on_floor);
  return geometry;
}

}  // namespace

Geometry read_geometry(std::istream& in, const std::string& name) {
  Geometry geometry = is_detx(in) ? read_detx(in, name) : read_lines(in, name);
  sort_sources(geometry);
  const auto twice = std::adjacent_find(geometry.sources.begin(), geometry.sources.end(),
                                        [](const auto& a, const auto& b) { return a.source == b.source; });
  if (twice != geometry.sources.end()) {
    throw std::invalid_argument("geometry " + name + ": source " + std::to_string(twice->source) +
                                " is listed twice");
  }
  if (geometry.sources.empty()) throw std::invalid_argument("geometry " + name + " lists no source");
  return geometry;
}

}  // namespace coincidence
