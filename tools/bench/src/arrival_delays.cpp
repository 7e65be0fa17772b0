#include "arrival_delays.hpp"

#include "units.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <map>
#include <sstream>

namespace weir::bench {

Series delays_of(const std::vector<std::string>& files, std::size_t points_max) {
  std::map<std::pair<std::uint64_t, unsigned>, double> last_us;  // by slice and readout
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
  const std::size_t step = std::max<std::size_t>(1, (last_us.size() + points_max - 1) / points_max);
  Series delays;
  std::size_t number = 0;
  for (const auto& [fragment, us] : last_us) {
    if (number++ % step == 0) delays.emplace_back(static_cast<double>(fragment.first), us / kUsPerMs);
  }
  return delays;
}

}  // namespace weir::bench
