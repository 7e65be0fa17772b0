// The cases of the field bench, and the farm and the lab of each.
#include <weir/bench/field.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace weir::bench {
namespace {

constexpr std::uint32_t kKb = 1000;

// Ports of 200 Mb/s with 100 kB where a case is about something else: the network is the limit, not the
// cores.
constexpr const char* kStar = "port_rate: 200mbit\nport_buffer: 100k\n";
constexpr const char* kMixed =
    "distribution: log-normal, size_bytes: 32768, sigma: 1.2, size_bytes_min: 256, size_bytes_max: 1048576";

constexpr const char* kLine40 =
    "topology: wan\nport_rate: 1gbit\nport_buffer: 500k\n"
    "wan: {far_hosts: 1, rate: 200mbit, buffer: 1m, delay_ms: 20}\n";
constexpr const char* kLine20 =
    "topology: wan\nport_rate: 1gbit\nport_buffer: 500k\n"
    "wan: {far_hosts: 1, rate: 200mbit, buffer: 1m, delay_ms: 10}\n";
constexpr const char* kLine100 =
    "topology: wan\nport_rate: 1gbit\nport_buffer: 500k\n"
    "wan: {far_hosts: 1, rate: 200mbit, buffer: 1m, delay_ms: 50}\n";
constexpr const char* kLine300 =
    "topology: wan\nport_rate: 1gbit\nport_buffer: 500k\n"
    "wan: {far_hosts: 1, rate: 200mbit, buffer: 1m, delay_ms: 150}\n";
constexpr const char* kLine40Loss =
    "topology: wan\nport_rate: 1gbit\nport_buffer: 500k\n"
    "wan: {far_hosts: 0, rate: 200mbit, buffer: 1m, delay_ms: 20}\nhost_count: 5\n"
    "hosts: [{name: far, nodes: [dcm-0], attached: 2, loss: 0.0001}]\n";
constexpr const char* kNearAndFar =
    "topology: wan\nport_rate: 200mbit\nport_buffer: 100k\n"
    "wan: {far_hosts: 5, rate: 1gbit, buffer: 4m, delay_ms: 20}\n";
constexpr const char* kSlow =
    "port_rate: 200mbit\nport_buffer: 100k\nhost_count: 9\n"
    "hosts: [{name: slow, nodes: [readout-0], host_rate: 10mbit}]\n";
constexpr const char* kPausing =
    "port_rate: 200mbit\nport_buffer: 100k\nhost_count: 9\n"
    "hosts: [{name: pausing, nodes: [readout-0], pause: {every_ms: 500, for_ms: 80}}]\n";
constexpr const char* kForeign =
    "port_rate: 200mbit\nport_buffer: 100k\nhost_count: 10\n"
    "foreign: [{from: h9, to: h8, rate: 60mbit}]\n";
// Cards that send and receive up to 64 kB at once, so that the port is the limit before the host. The burst
// grows with the rate, and is part of the buffer of 100 kB per Gb/s.
constexpr const char* kOffloads1g =
    "port_rate: 1gbit\nport_buffer: 84k\nburst: 16k\nmtu: 9000\noffloads: all\n";
constexpr const char* kOffloads2g =
    "port_rate: 2gbit\nport_buffer: 168k\nburst: 32k\nmtu: 9000\noffloads: all\n";
constexpr const char* kCore =
    "topology: racks\nport_rate: 200mbit\nport_buffer: 100k\nhost_count: 9\n"
    "racks: {count: 2, uplink_rate: 200mbit, uplink_buffer: 100k}\n"
    "hosts:\n"
    "  - {name: r0, nodes: [readout-0], attached: 1}\n  - {name: r1, nodes: [readout-1], attached: 1}\n"
    "  - {name: r2, nodes: [readout-2], attached: 1}\n  - {name: r3, nodes: [readout-3], attached: 1}\n"
    "  - {name: r4, nodes: [readout-4], attached: 1}\n  - {name: r5, nodes: [readout-5], attached: 1}\n"
    "  - {name: d0, nodes: [dcm-0], attached: 2}\n  - {name: d1, nodes: [dcm-1], attached: 2}\n"
    "  - {name: d2, nodes: [dcm-2], attached: 2}\n";
constexpr const char* k64 = "size_bytes: 65536";

const std::array kCases{
    FieldCase{"mixed-13", "13 readouts, fragments of mixed sizes", 13, 1, kMixed, kStar},
    FieldCase{"lan-8", "8 readouts to one DCM", 8, 1, k64, kStar},
    FieldCase{"lan-24", "24 readouts to one DCM", 24, 1, k64, kStar},
    FieldCase{"gigabit-8", "8 readouts to one DCM at 1 Gb/s", 8, 1, k64,
              "port_rate: 1gbit\nport_buffer: 100k\n"},
    FieldCase{"offloads-1g", "8 readouts to one DCM at 1 Gb/s, jumbo frames and segmentation offload", 8, 1,
              k64, kOffloads1g},
    FieldCase{"offloads-2g", "the same at 2 Gb/s", 8, 1, k64, kOffloads2g},
    FieldCase{"start-mixed", "24 readouts, mixed sizes: drops of the first second", 24, 1, kMixed, kStar},
    FieldCase{"buffer-30k", "ports with 30 kB", 8, 1, k64, "port_rate: 200mbit\nport_buffer: 30k\n"},
    FieldCase{"buffer-1m", "ports with 1 MB", 8, 1, k64, "port_rate: 200mbit\nport_buffer: 1m\n"},
    FieldCase{"all-to-all", "six hosts with a readout and two DCMs each, 50 Mb/s each way", 6, 12, k64,
              "placement: together\nport_rate: 50mbit\nport_buffer: 100k\nhost_rate: 50mbit\n", 8},
    FieldCase{"core", "the bottleneck between two racks: 6 readouts, 3 DCMs", 6, 3, k64, kCore, 16, 1.0 / 3},
    FieldCase{"wan-20", "a line of 200 Mb/s, 20 ms there and back", 4, 1, k64, kLine20, 16, 0.2},
    FieldCase{"wan-40", "the same, 40 ms", 4, 1, k64, kLine40, 16, 0.2},
    FieldCase{"wan-100", "the same, 100 ms", 4, 1, k64, kLine100, 24, 0.2},
    FieldCase{"wan-300", "the same, 300 ms", 4, 1, k64, kLine300, 48, 0.2},
    FieldCase{"wan-40-loss", "the same, 40 ms, a frame of 10 000 lost", 4, 1, k64, kLine40Loss, 16, 0.2},
    FieldCase{"near-and-far", "four readouts near the DCM, four 40 ms away", 8, 1, k64, kNearAndFar},
    FieldCase{"slow-readout", "one readout's host 20 times slower than the port", 8, 1, k64, kSlow},
    FieldCase{"pausing-readout", "one readout pauses for 80 ms twice a second", 8, 1, k64, kPausing},
    FieldCase{"changing-port",
              "the port from 150 to 40 Mb/s and back",
              8,
              1,
              k64,
              "port_rate: 150mbit\nport_buffer: 100k\n",
              16,
              1,
              {{1.0 / 3, "h8", "40mbit"}, {2.0 / 3, "h8", "150mbit"}}},
    FieldCase{"foreign", "other traffic of 60 Mb/s through the DCM's port", 8, 1, k64, kForeign},
};

}  // namespace

std::span<const FieldCase> field_cases() { return kCases; }

std::vector<std::vector<FieldPoint>> expand(const FieldOptions& options) {
  std::vector<std::vector<FieldPoint>> groups;
  for (const FieldCase& what : kCases) {
    const auto& wanted = options.cases;
    if (!wanted.empty() && std::find(wanted.begin(), wanted.end(), what.name) == wanted.end()) continue;
    for (const std::string& load : options.loads) {
      std::vector<FieldPoint>& group = groups.emplace_back();
      for (const std::string& shaper : options.shapers) {
        FieldPoint point{&what, load == "busy", shaper, 0};
        if (shaper != "byte-credits") {
          group.push_back(point);
          continue;
        }
        for (const std::uint64_t window : options.window_bytes) {
          point.window_bytes = window;
          group.push_back(point);
        }
      }
    }
  }
  return groups;
}

std::string shaper_text(const FieldPoint& point) {
  if (point.window_bytes == 0) return point.shaper;
  return fmt::format("{} {} kB", point.shaper, point.window_bytes / kKb);
}

std::string describe(const FieldPoint& point) {
  return fmt::format("{}, {}, {}", point.what->name, point.busy ? "busy" : "quiet", shaper_text(point));
}

std::string farm_text(const FieldPoint& point, const FieldOptions& options) {
  const FieldCase& what = *point.what;
  const std::uint32_t in_flight = what.credits * what.dcms;
  return fmt::format(
      "farm: bench-field\n"
      "run: {{duration_s: {}, restart: never}}\n"
      "trigger: {{mode: max, first_slice: 1}}\n"
      "supervisor: {{in_flight_max: {}, pending_max: {}, status_interval_ms: 100}}\n"
      "source: {{kind: dummy, {}}}\n"
      "readout: {{count: {}, buffer_bytes: 256MiB}}\n"
      "dcm: {{count: {}, credits: {}, slices_max: {}, buffer_bytes: {}, deadline_ms: 10000, shaper: {}{}}}\n"
      "filter: {{plugin: prescale, parameters: {{n: 4294967295}}}}\n"  // all are rejected
      "writer: {{count: 0}}\n",
      options.seconds, in_flight, in_flight, what.source, what.readouts, what.dcms, what.credits,
      4 * what.credits, what.dcms > 4 ? "128MiB" : "512MiB", point.shaper,
      point.window_bytes > 0 ? fmt::format(", window_bytes: {}", point.window_bytes) : "");
}

std::string lab_text(const FieldPoint& point, const FieldOptions& options, unsigned cores) {
  std::string text = fmt::format("lab: field\n{}", point.what->lab);
  if (point.busy) text += fmt::format("cpu_load: {}\n", cores);
  if (!point.what->changes.empty()) text += "changes:\n";
  for (const FieldChange& change : point.what->changes) {
    text += fmt::format("  - {{at_s: {:.3f}, host: {}, port_rate: {}}}\n", change.at * options.seconds,
                        change.host, change.rate);
  }
  return text;
}

}  // namespace weir::bench
