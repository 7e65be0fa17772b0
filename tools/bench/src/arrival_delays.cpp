#include "arrival_delays.hpp"

#include "units.hpp"
#include <weir/shaping/barrel.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <sstream>

namespace weir::bench {

namespace {

// When the last byte of each fragment arrived, in us since its slice's first arrival; by slice and readout.
std::map<std::pair<std::uint64_t, unsigned>, double> last_arrivals(const std::vector<std::string>& files) {
  std::map<std::pair<std::uint64_t, unsigned>, double> last_us;
  for (const std::string& file : files) {
    std::istringstream lines(file);
    std::string line;
    std::getline(lines, line);  // the heading
    while (std::getline(lines, line)) {
      unsigned long long slice = 0;
      unsigned readout = 0;
      double us = 0;
      if (std::sscanf(line.c_str(), "%llu,%u,%lf", &slice, &readout, &us) != 3) continue;
      double& last = last_us[{slice, readout}];
      last = std::max(last, us);
    }
  }
  return last_us;
}

}  // namespace

Series delays_of(const std::vector<std::string>& files, std::size_t points_max) {
  const auto last_us = last_arrivals(files);
  const std::size_t step = std::max<std::size_t>(1, (last_us.size() + points_max - 1) / points_max);
  Series delays;
  std::size_t number = 0;
  for (const auto& [fragment, us] : last_us) {
    if (number++ % step == 0) delays.emplace_back(static_cast<double>(fragment.first), us / kUsPerMs);
  }
  return delays;
}

std::vector<double> fragment_delays_of(const std::vector<std::string>& files, std::uint32_t group,
                                       double slot_ms) {
  std::vector<double> delays;
  for (const auto& [fragment, us] : last_arrivals(files)) {
    const double slots = group > 0 ? shaping::barrel_delay(fragment.second, group) : 0;
    delays.push_back(std::max(0.0, us / kUsPerMs - slots * slot_ms));
  }
  return delays;
}

}  // namespace weir::bench
