#include "units.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/scratch_folder.hpp>
#include <weir/bench/scale.hpp>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sched.h>

namespace weir::bench {
namespace {

// The cores of this thread and of the processes that it starts, until the object is gone.
class Cores {
 public:
  Cores() { ::sched_getaffinity(0, sizeof before_, &before_); }
  ~Cores() { ::sched_setaffinity(0, sizeof before_, &before_); }
  Cores(const Cores&) = delete;
  Cores& operator=(const Cores&) = delete;

  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(CPU_COUNT(&before_)); }

  // Returns why they cannot be limited, or an empty text.
  [[nodiscard]] std::string limit(std::uint32_t cores) const {
    WEIR_ASSERT(cores > 0 && cores <= count());
    cpu_set_t first;
    CPU_ZERO(&first);
    std::uint32_t taken = 0;
    for (int core = 0; core < CPU_SETSIZE && taken < cores; ++core) {
      if (!CPU_ISSET(core, &before_)) continue;
      CPU_SET(core, &first);
      ++taken;
    }
    if (::sched_setaffinity(0, sizeof first, &first) == 0) return {};
    return fmt::format("cannot use {} of {} cores: {}", cores, count(), std::strerror(errno));
  }

 private:
  cpu_set_t before_{};
};

// The highest share of a core among the processes of a role.
double highest_share(const LoopbackRun& farm, v1::Role role) {
  double most = 0;
  for (const reports::NodeUse& loop : farm.loops) {
    if (loop.role == role) most = std::max(most, loop.use.cpu);
  }
  return hundredths(most);
}

std::string describe(const ScalePoint& point) {
  return fmt::format("{} B, {} readout{} and DCM{}, {} core{}", point.fragment_bytes, point.processes,
                     point.processes == 1 ? "" : "s", point.processes == 1 ? "" : "s", point.cores,
                     point.cores == 1 ? "" : "s");
}

}  // namespace

std::vector<std::uint32_t> doublings(std::uint32_t most) {
  WEIR_ASSERT(most > 0);
  std::vector<std::uint32_t> values;
  for (std::uint32_t value = 1; value < most; value *= 2) values.push_back(value);
  values.push_back(most);
  return values;
}

std::uint32_t usable_cores() { return Cores().count(); }

Line line_of(const ScalePoint& point, const LoopbackRun& farm, const CeilingResult& ceiling) {
  return {{"bench", "scale"},
          {"fragment_bytes", point.fragment_bytes},
          {"sources_per_readout", point.sources},
          {"processes", point.processes},
          {"cores", point.cores},
          {"rounds", 1},
          {"slices_per_s", four_digits(farm.slices_per_s)},
          {"fragments_per_s", four_digits(farm.rate.fragments_per_s)},
          {"goodput_bytes_per_s", four_digits(farm.rate.goodput_bytes_per_s)},
          {"cpu_us_per_fragment", four_digits(farm.rate.cpu_us_per_fragment)},
          {"ceiling_fragments_per_s", four_digits(ceiling.fragments_per_s)},
          {"ratio", four_digits(farm.rate.fragments_per_s / ceiling.fragments_per_s)},
          {"readout_share", highest_share(farm, v1::ROLE_READOUT)},
          {"dcm_share", highest_share(farm, v1::ROLE_DCM)},
          {"supervisor_share", highest_share(farm, v1::ROLE_SUPERVISOR)},
          {"limit", fmt::format("{}", fmt::join(reports::limits(farm.loops), "; "))},
          {"_label", describe(point)}};
}

Expected<Line, std::string> measure_scale(const ScalePoint& point, double seconds) {
  const Cores cores;
  if (const std::string why = cores.limit(point.cores); !why.empty()) return Unexpected<std::string>(why);
  const ScratchFolder folder;
  const auto farm =
      run_loopback_farm({point.processes, point.sources, point.processes, point.fragment_bytes, true},
                        seconds, folder.path().string());
  if (!farm) return Unexpected<std::string>("the farm: " + farm.error());
  CeilingSettings settings;
  settings.readouts = point.processes;
  settings.collectors = point.processes;
  settings.fragment_bytes = point.fragment_bytes;
  settings.seconds = seconds;
  const auto ceiling = measure_ceiling(settings);
  if (!ceiling) return Unexpected<std::string>("the ceiling: " + ceiling.error());
  return line_of(point, *farm, *ceiling);
}

int run_scale(const ScaleOptions& options, std::FILE* out, std::FILE* err) {
  const std::uint32_t usable = usable_cores();
  const auto processes = options.processes.empty() ? doublings(usable) : options.processes;
  const auto cores = options.cores.empty() ? doublings(usable) : options.cores;
  for (const std::uint32_t count : cores) {
    if (count > 0 && count <= usable) continue;
    fmt::print(err, "weir bench scale: --cores {}: this machine lends 1 to {}\n", count, usable);
    return 1;
  }
  Figure figure;
  figure.bench = "scale";
  figure.needs_all = true;
  figure.rounds = options.rounds;
  for (const std::uint32_t bytes : options.fragment_bytes) {
    for (const std::uint32_t number : processes) {
      std::vector<FigurePoint> group;
      for (const std::uint32_t count : cores) {
        const ScalePoint point{number, count, options.sources, bytes};
        group.push_back({describe(point), [&options, point]() -> Expected<Lines, std::string> {
                           auto line = measure_scale(point, options.seconds);
                           if (!line) return Unexpected<std::string>(line.error());
                           return Lines{std::move(*line)};
                         }});
      }
      figure.groups.push_back(std::move(group));
    }
  }
  figure.sentence = [](const Line& line) {
    const std::string limit = text_of(line, "limit");
    return fmt::format("{}: {:.3g} slices/s, {:.3g} fragments/s, {:.3g} GB/s, {:.2f} of the ceiling{}{}",
                       text_of(line, "_label"), number_of(line, "slices_per_s"),
                       number_of(line, "fragments_per_s"), number_of(line, "goodput_bytes_per_s") / 1e9,
                       number_of(line, "ratio"), limit.empty() ? "" : "; ", limit);
  };
  return run_figure(figure, {}, out, err);
}

}  // namespace weir::bench
