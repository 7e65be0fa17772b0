#include <weir/base/figures.hpp>
#include <weir/base/time.hpp>
#include <weir/config/rate.hpp>
#include <weir/reports/source_counts.hpp>
#include <weir/reports/switch_account.hpp>
#include <weir/run_record/summary.hpp>

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <utility>
#include <vector>

namespace weir::run_record {
namespace {

constexpr int kKeyWidth = 12;
constexpr double kBitsPerByte = 8;
constexpr double kMega = 1e6;
constexpr std::size_t kFilesShown = 12;
constexpr std::size_t kPortsShown = 12;

class Page {
 public:
  template <class... Arguments>
  void line(std::string_view key, fmt::format_string<Arguments...> format, Arguments&&... arguments) {
    auto end = fmt::format_to(std::back_inserter(text_), "  {:<{}}", key, kKeyWidth);
    fmt::format_to(end, format, std::forward<Arguments>(arguments)...);
    text_ += '\n';
  }
  void heading(std::string_view heading) { fmt::format_to(std::back_inserter(text_), "\n{}\n", heading); }
  [[nodiscard]] std::string take() { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

// Returns " (busy 3, draining 1)", or an empty string.
std::string in_brackets(const Counts& counts) {
  std::string text;
  for (const auto& [reason, count] : counts)
    text += (text.empty() ? "" : ", ") + reason + " " + grouped(count);
  return text.empty() ? text : "  (" + text + ")";
}

std::string share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0
             ? ""
             : fmt::format("{:.3g} %", kPercent * static_cast<double>(part) / static_cast<double>(whole));
}

// Formats a number as 0.0433, 100.2 or 10 510.
std::string per_something(double value) {
  constexpr double kGrouped = 1000;
  return value < kGrouped ? fmt::format("{:.4g}", value) : grouped(static_cast<std::uint64_t>(value + 0.5));
}

void add_slices(const Summary& summary, Page& page) {
  const std::size_t width = grouped(std::max(summary.offered, summary.triggered)).size();
  const auto row = [&](std::string_view key, std::uint64_t count, const std::string& remark) {
    page.line(key, "{:>{}}{}{}", grouped(count), width, remark.empty() ? "" : "  ", remark);
  };
  if (!summary.vetoed.empty()) {
    row("offered", summary.offered, {});
    page.line("vetoed", "{:>{}}{}", grouped(total_of(summary.vetoed)), width, in_brackets(summary.vetoed));
  }
  for (const auto& [reason, ms] : summary.throttled_ms) {
    page.line("held up", "{:>{}.1f} s by {}", static_cast<double>(ms) / 1000, width, reason);
  }
  row("triggered", summary.triggered, {});
  std::string stored = share(summary.stored, summary.triggered);
  if (summary.stored_incomplete > 0)
    stored += fmt::format(", {} of them incomplete", grouped(summary.stored_incomplete));
  row("stored", summary.stored, stored);
  row("rejected", summary.rejected, share(summary.rejected, summary.triggered));
  page.line("discarded", "{:>{}}{}", grouped(total_of(summary.discarded)), width,
            in_brackets(summary.discarded));
}

void add_latency(std::string_view key, const Percentiles& latency, std::string_view meaning, Page& page) {
  if (latency.count == 0) return;
  page.line(key, "p50 {:<9} p90 {:<9} p99 {:<9} p99.9 {:<9} max {:<9} {}", microseconds_text(latency.p50),
            microseconds_text(latency.p90), microseconds_text(latency.p99), microseconds_text(latency.p999),
            microseconds_text(latency.max), meaning);
}

void add_groups(const Summary& summary, Page& page) {
  for (const GroupSummary& group : summary.groups) {
    page.line("group", "{}: {} in, {} forwarded, {} stored, {} rejected, {} discarded{}", group.name,
              grouped(group.arrived), grouped(group.forwarded), grouped(group.stored),
              grouped(group.rejected), grouped(group.discarded),
              group.reassigned > 0 ? ", " + counted(group.reassigned, "reassignment") : "");
    add_latency(
        "", group.decision_latency_us,
        "decision, mean " + microseconds_text(static_cast<std::uint64_t>(group.decision_times.mean_us)),
        page);
  }
  if (const auto count = [&](const char* key) { return summary.fetch.at(key); }; !summary.fetch.empty())
    page.line("fetched", "{} and {} from the DCMs that built them, {} from readouts instead",
              counted(count("slices"), "slice"), bytes_text(static_cast<double>(count("bytes"))),
              counted(count("from_readouts"), "slice"));
  if (!summary.groups.empty())
    page.line("readouts", "held at most {} and {} each", counted(summary.readout_slices_peak, "slice"),
              bytes_text(static_cast<double>(summary.readout_bytes_peak)));
}

void add_fragments(const Summary& summary, Page& page) {
  const auto count = [&](const char* key) {
    const auto found = summary.fragments.find(key);
    return found == summary.fragments.end() ? 0 : found->second;
  };
  page.line("fragments", "{} requested, {} received, {}{} missing{}", grouped(count("requested")),
            grouped(count("received")), summary.dcms_lost > 0 ? "at least " : "",
            grouped(total_of(summary.fragments_missing)), in_brackets(summary.fragments_missing));
  if (summary.dcms_lost > 0) {
    page.line("", "{} lost: these figures lack its counts after the last report",
              counted(summary.dcms_lost, "DCM"));
  }
  Counts odd;
  for (const char* key :
       {"late", "duplicate", "unknown", "corrupt", "truncated", "suppressed", "out_of_step"}) {
    if (count(key) > 0) odd[key] = count(key);
  }
  for (const auto& [reason, dropped] : summary.fragments_dropped) odd["dropped " + reason] = dropped;
  if (!odd.empty()) page.line("", "besides:{}", in_brackets(odd));
  for (const std::string& line : reports::worst_lines(summary.sources, reports::kSourcesNamed))
    page.line("", "{}", line);
  constexpr double kUnequal = 0.95;
  if (summary.source_fairness > 0 && summary.source_fairness < kUnequal)
    page.line("", "unequal bytes of sources: fairness {:.2f} (1: equal)", summary.source_fairness);
  if (summary.delivery_fairness > 0 && summary.delivery_fairness < kUnequal)
    page.line("", "losses differ by source: fairness of deliveries {:.2f} (1: equal)",
              summary.delivery_fairness);
}

void add_theory(const Summary& summary, Page& page) {
  const Theory& theory = summary.theory;
  if (theory.goodput_bytes_per_s <= 0) return;
  page.line("theory", "{:.1f} % of {}/s (full frames; {}/s by the formula of Jereczek 2017){}",
            kPercent * share_of_theory(summary), bytes_text(theory.goodput_bytes_per_s),
            bytes_text(theory.thesis_goodput_bytes_per_s),
            theory.serialisation_us > 0
                ? ", a slice takes " + microseconds_text(static_cast<std::uint64_t>(theory.serialisation_us))
                : "");
}

void add_after_1s(const Summary& summary, Page& page) {
  if (!summary.after_1s || summary.after_1s->goodput_bytes_per_s <= 0) return;
  const SteadySummary& after = *summary.after_1s;
  std::string share;
  if (after.goodput_share_of_theory > 0)
    share = fmt::format(", {:.1f} % of theory", kPercent * after.goodput_share_of_theory);
  if (after.dcm_share_max > after.dcm_share_min)
    share +=
        fmt::format(", DCMs {:.2f} to {:.2f} of an equal part", after.dcm_share_min, after.dcm_share_max);
  page.line("after 1 s", "{:.3g} s: {}/s{}, {}", after.seconds, bytes_text(after.goodput_bytes_per_s), share,
            counted(after.retransmits, "retransmitted segment"));
  add_latency("", after.latency_us, "first request to last fragment", page);
}

void add_rates(const Summary& summary, Page& page) {
  page.line("rate", "{} slices/s, {} fragments/s", per_something(summary.slices_per_s),
            per_something(summary.fragments_per_s));
  page.line("goodput", "{}/s of fragments: {} built, {} stored{}", bytes_text(summary.goodput_bytes_per_s),
            bytes_text(static_cast<double>(summary.bytes_in)),
            bytes_text(static_cast<double>(summary.bytes_stored)),
            summary.output_events == 0 ? "" : ", " + counted(summary.output_events, "output event"));
  add_theory(summary, page);
  if (summary.retransmits > 0)
    page.line("network", "{}", counted(summary.retransmits, "retransmitted segment"));
  add_latency("latency", summary.latency_us, "first request to last fragment", page);
  add_latency("building", summary.build_latency_us, "assignment to last fragment", page);
  add_latency("decision", summary.decision_latency_us, "assignment to the filter's decision", page);
  add_groups(summary, page);
  add_after_1s(summary, page);
}

void add_plugin(const std::string& heading, const std::string& plugin, const Counts& counts,
                const Summary& summary, Page& page) {
  if (plugin.empty() && counts.empty()) return;
  page.heading(heading + plugin);
  std::size_t key_width = 0;
  std::size_t count_width = 0;
  for (const auto& [name, count] : counts) {
    key_width = std::max(key_width, name.size());
    count_width = std::max(count_width, grouped(count).size());
  }
  for (const auto& [name, count] : counts) {
    const std::string a_slice =
        summary.triggered == 0
            ? ""
            : per_something(static_cast<double>(count) / static_cast<double>(summary.triggered)) + " a slice";
    page.line(fmt::format("{:<{}}", name, key_width), "  {:>{}}  {}", grouped(count), count_width, a_slice);
  }
}

// Lists the sources with the largest differences from the farm's clocks, with their corrections.
void add_clocks(const Summary& summary, Page& page) {
  constexpr std::size_t kClocksShown = 8;
  if (summary.clocks.empty()) return;
  std::vector<Summary::Clock> clocks = summary.clocks;
  std::ranges::stable_sort(clocks, [](const Summary::Clock& a, const Summary::Clock& b) {
    return std::abs(a.correction_us) > std::abs(b.correction_us);
  });
  page.heading("Clocks of sources: arrival after the end of the data");
  const std::size_t shown = std::min(clocks.size(), kClocksShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const Summary::Clock& clock = clocks[i];
    page.line(fmt::format("source {}", clock.source),
              "  least {:.1f} us, median {:.1f} us; build.offsets: add {:.1f} us", clock.least_us,
              clock.median_us, clock.correction_us);
  }
  if (shown < clocks.size()) page.line("", "and {} more", clocks.size() - shown);
}

// Times of a slice, on average.
void add_steps(const Summary& summary, Page& page) {
  if (summary.steps.empty()) return;
  page.heading("Steps of the filter");
  page.line("", "{:>12} {:>12} {:>10} {:>12} {:>12} {:>12}", "slices", "rejected", "bytes", "waiting",
            "processing", "CPU");
  const auto time = [](double us) { return microseconds_text(static_cast<std::uint64_t>(us + 0.5)); };
  std::string group;
  for (const StepSummary& step : summary.steps) {
    if (step.group != group) page.line("group", "{}", group = step.group);
    page.line(fmt::format("step {}", step.step), "{:>12} {:>12} {:>10} {:>12} {:>12} {:>12}",
              grouped(step.slices), grouped(step.rejected), bytes_text(static_cast<double>(step.bytes)),
              time(step.wait_us), time(step.process_us), time(step.cpu_us));
  }
  if (summary.prefetch.empty()) return;
  const auto count = [&](const char* key) { return summary.prefetch.at(key); };
  page.line("prefetched", "{} fragments, {} of them in vain; {} arrived ahead, {} in vain",
            grouped(count("fragments")), grouped(count("unused")),
            bytes_text(static_cast<double>(count("bytes"))),
            bytes_text(static_cast<double>(count("wasted_bytes"))));
}

void add_cpu(const Summary& summary, Page& page) {
  const CpuSummary& cpu = summary.cpu;
  if (cpu.slices == 0 || cpu.seconds <= 0) return;
  constexpr double kMsPerS = 1000;
  const auto slices = static_cast<double>(cpu.slices);
  page.line("CPU", "DCMs, a slice: filter {:.3g} ms ({:.1f} % of a core), transport {:.3g} ms ({:.1f} %)",
            kMsPerS * cpu.filter_s / slices, kPercent * cpu.filter_s / cpu.seconds,
            kMsPerS * cpu.transport_s / slices, kPercent * cpu.transport_s / cpu.seconds);
}

// A short run is mostly its start.
void add_limits(const Summary& summary, Page& page) {
  constexpr double kLongEnough = 2;
  if (summary.duration_s < kLongEnough) return;
  for (const std::string& limit : reports::limits(summary.loops)) page.line("full", "{}", limit);
}

void add_truth(const Summary& summary, Page& page) {
  if (!summary.truth || summary.truth->tracks == 0) return;
  page.heading("True tracks, by the modules that saw their light");
  for (const TruthComparison::Bin& bin : summary.truth->bins) {
    const bool open_end = bin.modules_max == UINT64_MAX;
    const std::string modules = open_end ? fmt::format("{} or more", bin.modules_min)
                                : bin.modules_min == bin.modules_max
                                    ? std::to_string(bin.modules_min)
                                    : fmt::format("{} to {}", bin.modules_min, bin.modules_max);
    page.line(modules, "{:>7} tracks, {:>7} in stored slices  {}", grouped(bin.tracks), grouped(bin.stored),
              share(bin.stored, bin.tracks));
  }
  page.line("none", "{:>7}         {:>7} stored slices", "", grouped(summary.truth->stored_without_track));
}

// Adds the disturbances that the lab caused on purpose.
void add_disturbance(const Summary& summary, Page& page) {
  if (summary.lab->cpu_load > 0) {
    page.line("load", "{} beside the farm: {:.3g} s of CPU time", counted(summary.lab->cpu_load, "spinner"),
              summary.lab->cpu_load_s);
  }
  std::uint64_t lossy = 0;
  std::uint64_t lost = 0;
  for (const reports::DisturbedHost& host : summary.disturbed) {
    if (host.pauses > 0)
      page.line(host.name, "paused {}, {:.3g} s together", counted(host.pauses, "time"), host.paused_s);
    if (host.cpu_share > 0)
      page.line(host.name, "had {:.3g} of a core, was held back for {:.3g} s", host.cpu_share, host.held_s);
    lossy += host.loss > 0 || host.bit_errors > 0 ? 1 : 0;
    lost += host.frames_lost;
  }
  if (lossy > 0) page.line("lost", "{} to {}, on purpose", counted(lost, "frame"), counted(lossy, "host"));
  for (const reports::AppliedChange& change : summary.changes) {
    page.line(change.port, "{} with a buffer of {} from {:.2f} s on{}{}",
              config::print_rate(change.rate_bits_per_s),
              bytes_text(static_cast<double>(change.buffer_bytes)), change.at_s,
              change.failure.empty() ? "" : ", failed: ", change.failure);
  }
  for (const reports::AppliedOutage& outage : summary.outages) {
    page.line("line", "down from {:.2f} s for {:.2f} s{}{}", outage.at_s, outage.for_s,
              outage.failure.empty() ? "" : ", failed: ", outage.failure);
  }
  for (const reports::AppliedOutage& cut : summary.cuts) {
    page.line("cut", "{} from {:.2f} s for {:.2f} s{}{}", cut.what, cut.at_s, cut.for_s,
              cut.failure.empty() ? "" : ", failed: ", cut.failure);
  }
}

// The latest ones of a run with many.
void add_plane_moves(const Summary& summary, Page& page) {
  constexpr std::size_t kShown = 12;
  const auto& moves = summary.plane_moves;
  if (moves.empty()) return;
  page.heading("Moves between planes");
  const std::size_t first = moves.size() - std::min(moves.size(), kShown);
  if (first > 0) page.line("", "{} before these", first);
  for (std::size_t i = first; i < moves.size(); ++i) {
    page.line(moves[i].dcm, "{} to {} at {:.2f} s{}{}", moves[i].from, moves[i].to, moves[i].at_s,
              moves[i].lacking > 0
                  ? fmt::format(", {} without heartbeat", counted(moves[i].lacking, "readout"))
                  : ", its own plane again",
              moves[i].gap_s > 0 ? fmt::format("; no data for {:.2f} s", moves[i].gap_s) : "");
  }
}

void add_switches(const Summary& summary, Page& page) {
  if (summary.switches.empty()) return;
  page.heading("Switches");
  for (const v1::SwitchAccount& one : summary.switches)
    page.line(one.name(), " {}", reports::switch_line(one));
}

void add_software_switches(const reports::RelayReport& relay, Page& page) {
  std::string drops;
  for (const auto& [reason, count] : relay.drops)
    drops += fmt::format("{}{} {}", drops.empty() ? ": " : ", ", reason, count);
  page.line("switches", "{} in software for {}, {} passed, {} dropped{}{}", relay.switches,
            counted(relay.links, "host"), counted(relay.frames, "frame"), relay.dropped, drops,
            relay.marked > 0 ? fmt::format("; {} marked", relay.marked) : "");
}

void add_relay(const reports::RelayReport& relay, Page& page) {
  if (relay.is_software) return add_software_switches(relay, page);
  if (relay.switches > 0) {
    page.line("relay", "{} {} in user space for {}, {} passed, p99 jitter {} us", relay.switches,
              relay.switches == 1 ? "switch" : "switches", counted(relay.links, "host"),
              counted(relay.frames, "frame"), relay.late_p99_us);
    return;
  }
  const double delay_ms = static_cast<double>(relay.delay_ns) / static_cast<double>(kMillisecond);
  page.line("relay", "{} with a delay of {:.4g} ms, {} passed, p99 jitter {} us{}",
            counted(relay.links, "link"), delay_ms, counted(relay.frames, "frame"), relay.late_p99_us,
            relay.is_inexact() ? ": more than 10 % of the delay" : "");
  if (relay.dropped > 0)
    page.line("", "{} dropped: the relay is more than this machine can carry",
              counted(relay.dropped, "frame"));
}

void add_lab(const Summary& summary, Page& page) {
  if (!summary.lab) return;
  page.heading(fmt::format("Lab {}: {}, {}", summary.lab->name, summary.lab->topology,
                           counted(summary.lab->hosts, "host")));
  page.line("drops", "{}, {} of them later than 1 s after the port's begin", grouped(port_drops(summary)),
            grouped(port_drops_after_1s(summary)));
  if (summary.lab->machine_drops > 0) {
    page.line("overload", "{} dropped by this machine's CPUs: the lab is more than it can carry",
              counted(summary.lab->machine_drops, "frame"));
  }
  if (summary.lab->relay) add_relay(*summary.lab->relay, page);
  std::vector<const reports::PortReport*> ports;
  for (const reports::PortReport& port : summary.ports) {
    if (port.packets > 0) ports.push_back(&port);
  }
  std::stable_sort(ports.begin(), ports.end(), [](const auto* a, const auto* b) {
    return a->drops != b->drops ? a->drops > b->drops : a->use > b->use;
  });
  const std::size_t shown = std::min(ports.size(), kPortsShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const reports::PortReport& port = *ports[i];
    page.line(port.name, "{:>5.1f} % of {}, {:>5.1f} % in its busiest second, {} sent, {} dropped{}",
              kPercent * port.use, config::print_rate(port.rate_bits_per_s), kPercent * port.busiest_use,
              bytes_text(static_cast<double>(port.bytes)), counted(port.drops, "frame"),
              port.pauses > 0
                  ? fmt::format(", paused {}, {:.3g} s", counted(port.pauses, "time"), port.paused_s)
                  : "");
  }
  if (shown < ports.size()) page.line("", "and {} more that carried something", ports.size() - shown);
  for (const reports::ForeignReport& flow : summary.foreign) {
    const double bits_per_s =
        flow.seconds > 0 ? kBitsPerByte * static_cast<double>(flow.bytes) / flow.seconds : 0;
    page.line("foreign", "{} to {}: {} in {:.4g} s, {:.4g} Mbit/s", flow.from, flow.to,
              bytes_text(static_cast<double>(flow.bytes)), flow.seconds, bits_per_s / kMega);
  }
  add_disturbance(summary, page);
}

std::string indented(std::string_view text) {
  std::string out;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    out += "  " + std::string(text.substr(0, end)) + "\n";
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

void add_bursts(const Summary& summary, Page& page) {
  if (summary.bursts.empty()) return;
  page.heading("Burst alerts, in slices");
  for (const Summary::Burst& burst : summary.bursts) {
    std::string fates;
    const auto add = [&fates](std::uint64_t count, std::string_view fate) {
      if (count > 0) fates += fmt::format(", {} {}", grouped(count), fate);
    };
    add(burst.too_old, "too_old");
    add(burst.no_room, "no_room");
    add(burst.disk_slow, "disk_slow");
    add(burst.disk_failed, "disk_failed");
    add(burst.refused, "refused");
    add(burst.lost, "lost");
    add(burst.not_kept, "kept by no known DCM");
    page.line(fmt::format("burst {}", burst.number), "{:.4g} s: {} asked, {} saved{}{}",
              static_cast<double>(burst.until_ns - burst.from_ns) / 1e9, grouped(burst.asked),
              grouped(burst.saved), fates, burst.reason.empty() ? "" : "  (" + burst.reason + ")");
  }
}

void add_files(std::string_view heading, const std::vector<Summary::File>& files, Page& page) {
  if (files.empty()) return;
  page.heading(std::string(heading));
  std::size_t width = 0;
  for (const Summary::File& file : files) width = std::max(width, file.path.size());
  const std::size_t shown = std::min(files.size(), kFilesShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const Summary::File& file = files[i];
    page.line(fmt::format("{:<{}}", file.path, width), "  {:>8}  {}  {}",
              bytes_text(static_cast<double>(file.bytes)), counted(file.slices, "slice"),
              file.closed() ? fmt::format("crc32c {:08x}", file.crc32c) : "not closed");
  }
  if (shown < files.size()) page.line("", "and {} more", files.size() - shown);
}

}  // namespace

std::string to_text(const Summary& summary) {
  Page page;
  page.heading(fmt::format("Run {} of farm {}: {:.4g} s{}{}", summary.run, summary.farm, summary.running_s,
                           summary.reason.empty() ? "" : ", ended: ", summary.reason));
  add_slices(summary, page);
  add_fragments(summary, page);
  add_rates(summary, page);
  add_cpu(summary, page);
  add_limits(summary, page);
  add_plugin("Source ", summary.source_plugin, summary.source, summary, page);
  add_plugin("Faults on purpose, of fragments", "", summary.injected, summary, page);
  add_plugin("Pieces of windows", "", summary.pieces, summary, page);
  add_plugin("Numbers of front-ends", "", summary.numbers, summary, page);
  add_plugin("Fragments compared by counter or time", "", summary.steps_compared, summary, page);
  add_clocks(summary, page);
  add_plugin("Filter ", summary.filter_plugin, summary.filter, summary, page);
  add_steps(summary, page);
  add_plugin("Filter workers", "", summary.filter_workers, summary, page);
  add_truth(summary, page);
  add_plane_moves(summary, page);
  add_switches(summary, page);
  add_lab(summary, page);
  std::string text = page.take();
  if (!summary.ledger_text.empty()) text += "\nLedger\n" + indented(summary.ledger_text);
  if (!summary.faults.empty()) {
    text += "\nFaults\n";
    for (const std::string& fault : summary.faults) text += "  " + fault + "\n";
  }
  add_bursts(summary, page);
  add_files("Run files", summary.files, page);
  add_files("Burst files", summary.burst_files, page);
  return text + page.take();
}

}  // namespace weir::run_record
