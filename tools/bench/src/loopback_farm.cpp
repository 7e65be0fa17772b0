#include "plain_farm.hpp"
#include "units.hpp"
#include <weir/bench/ceiling.hpp>
#include <weir/bench/loopback.hpp>
#include <weir/reports/numbers.hpp>
#include <weir/run_record/summary.hpp>
#include <weir/security/keys.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace weir::bench {
namespace {

constexpr std::uint32_t kCreditsMin = 2;

std::string farm_text(const LoopbackPoint& point, double seconds, const std::string& folder) {
  // As many fragments in flight as in the reference, which has slices with one fragment of each readout.
  const std::uint32_t credits =
      std::max(kCreditsMin, slices_in_flight_for(point.fragment_bytes) / point.sources);
  const std::uint64_t slice_bytes =
      std::bit_ceil(std::uint64_t{point.readouts} * point.sources * point.fragment_bytes);
  const std::uint64_t dcm_bytes = std::max(kBufferBytesMin, 2 * credits * slice_bytes);
  const std::uint64_t in_flight = std::uint64_t{2} * credits * point.dcms;
  const std::uint64_t readout_bytes =
      std::max(kBufferBytesMin, 2 * in_flight * point.sources * point.fragment_bytes);
  return fmt::format(
      "farm: bench-loopback\n"
      "run: {{out: '{}', duration_s: {}, checksums: {}}}\n"
      "trigger: {{mode: max}}\n"
      "source: {{kind: dummy, distribution: fixed, size_bytes: {}, size_bytes_max: {}}}\n"
      "readout: {{count: {}, sources_per_readout: {}, buffer_bytes: {}}}\n"
      "dcm: {{count: {}, credits: {}, slices_max: {}, buffer_bytes: {}, fragment_bytes_max: {}, shaper: "
      "none}}\n"
      "supervisor: {{in_flight_max: {}, pending_max: {}}}\n"
      "filter: {{plugin: accept-all}}\n"
      "writer: {{count: 0}}\n",
      folder, seconds, point.checksums, point.fragment_bytes, point.fragment_bytes, point.readouts,
      point.sources, readout_bytes, point.dcms, credits, 2 * credits, dcm_bytes,
      std::max(point.fragment_bytes, 4096U), in_flight, in_flight);
}

struct Totals {
  double fragments = 0;
  double system_calls = 0;
};

Totals totals_of(const v1::RunSummary& account) {
  Totals totals;
  for (const v1::Report& node : account.nodes()) {
    const auto counter = [&](metrics::CounterKey key) {
      return static_cast<double>(reports::counter_of(node, key));
    };
    if (node.role() == v1::ROLE_DCM) totals.fragments += counter("fragments.received");
    totals.system_calls +=
        counter("net.receive_calls") + counter("net.send_calls") + counter("net.wait_calls");
  }
  return totals;
}

}  // namespace

Expected<LoopbackRun, std::string> run_loopback_farm(const LoopbackPoint& point, double seconds,
                                                     const std::string& folder, bool tls) {
  std::string text = farm_text(point, seconds, folder);
  if (tls) {
    const std::string key = folder + "/farm.key";
    const security::FarmKeys keys{{security::make_farm_key("bench")}};
    if (const std::string why = security::replace_file(key, security::to_text(keys), true); !why.empty())
      return Unexpected<std::string>(why);
    text += fmt::format("security: {{key_file: '{}', tls: true}}\n", key);
  }
  const auto ran = run_plain_farm(text, folder);
  if (!ran) return Unexpected<std::string>(ran.error());
  const double duration_s = static_cast<double>(ran->account->duration_ns()) / kSecond;
  const Totals totals = totals_of(*ran->account);
  if (totals.fragments <= 0 || duration_s <= 0) return Unexpected<std::string>("no fragment arrived");
  double cpu_s = 0;
  for (const run_record::ProcessRecord& process : ran->processes) cpu_s += process.end.cpu_s;
  LoopbackRun result;
  result.rate = {totals.fragments / duration_s, totals.fragments / duration_s * point.fragment_bytes,
                 1e6 * cpu_s / totals.fragments, totals.system_calls / totals.fragments};
  result.slices_per_s = totals.fragments / duration_s / (point.readouts * point.sources);
  result.loops = run_record::summarize(*ran->account).loops;
  return result;
}

Expected<Rate, std::string> measure_farm(const LoopbackPoint& point, double seconds,
                                         const std::string& folder, bool tls) {
  const auto ran = run_loopback_farm(point, seconds, folder, tls);
  if (!ran) return Unexpected<std::string>(ran.error());
  return ran->rate;
}

}  // namespace weir::bench
