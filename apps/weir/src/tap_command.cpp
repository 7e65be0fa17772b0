#include "commands.hpp"
#include "control_connection.hpp"
#include <weir/base/figures.hpp>
#include <weir/clock/clock.hpp>
#include <weir/tap_client/sample_file.hpp>
#include <weir/tap_client/slice_line.hpp>
#include <weir/tap_client/tap_client.hpp>
#include <weir/transport/signals.hpp>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <csignal>
#include <cstdio>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace weir::commands {
namespace {

constexpr int kNothing = 1;  // no sample came, or something ended it
constexpr DurationNs kTakeWait = 200 * kMillisecond;
constexpr DurationNs kSilence = 15 * kSecond;  // of run control before it is reported

volatile std::sig_atomic_t g_signalled = 0;

struct TapOptions {
  ConnectionOptions connection{{}, {}, {}, "observer"};
  std::vector<std::string> streams;
  std::uint32_t every = 1;
  std::vector<std::uint32_t> sources;
  std::uint64_t count = 0;
  double duration_s = 0;
  double timeout_s = 5;
  std::string out;
  bool json = false;
};

void print_slice(const tap_client::SampledSlice& slice, bool json) {
  const storage::SliceHead& head = slice.record.head();
  if (json) {
    fmt::print("{}\n", tap_client::json_line(slice));
  } else {
    const tap_client::SliceFacts facts = tap_client::facts_of(slice.record);
    const bool complete = (head.flags & storage::slice_flag::incomplete) == 0;
    fmt::print("{:>12}  {}  {:<8}  {:<8}  {:<10}  {:>5} fragments  {:>9}{}\n", head.slice.value,
               utc_text(head.trigger_time), slice.stream, slice.dcm, complete ? "complete" : "incomplete",
               facts.fragments, bytes_text(static_cast<double>(slice.record.payload_bytes())),
               facts.missing > 0 ? fmt::format("  {} missing", facts.missing) : "");
  }
  std::fflush(stdout);
}

void print_end(const tap::Tally& tally, std::uint64_t known, const TapOptions& options) {
  if (options.json) {
    fmt::print(
        "{{\"samples\":{},\"slices_seen\":{},\"lost\":{},\"dropped\":{},\"malformed\":{},\"known\":{}}}\n",
        tally.received(), tally.seen(), tally.lost(), tally.dropped(), tally.malformed(), known);
    return;
  }
  fmt::print(stderr, "{} of {}; {} lost here, {} dropped by the DCMs{}{}\n",
             counted(tally.received(), "sample"), counted(tally.seen(), "slice"), grouped(tally.lost()),
             grouped(tally.dropped()),
             tally.malformed() > 0 ? fmt::format(", {} malformed", tally.malformed()) : "",
             known > 0 ? fmt::format(", {} were in the file already", known) : "");
}

std::string note_of(const TapOptions& options) {
  std::string sources;
  for (const std::uint32_t source : options.sources)
    sources += fmt::format("{}{}", sources.empty() ? "" : ",", source);
  return fmt::format("{{\"tap\":{{\"stream\":\"{}\",\"every\":{},\"sources\":[{}]}}}}",
                     options.streams.front(), options.every, sources);
}

// Reports once why no samples arrive.
void tell_silence(const tap_client::TapClient& tap, bool& told) {
  const bool away = tap.unanswered_ns() > kSilence;
  const bool silent = tap.dcms() == 0 || away;
  if (silent && !told)
    fmt::print(stderr, "weir tap: {}\n",
               away ? "run control does not answer; waiting" : "no run is active; waiting");
  told = silent;
}

int sample(const TapOptions& options) {
  ControlConnection connection = control_connection(options.connection);
  std::optional<tap_client::SampleFile> file;
  try {
    if (!options.out.empty()) file.emplace(options.out, connection.farm, note_of(options));
  } catch (const std::runtime_error& error) {
    throw std::invalid_argument(error.what());  // the command line's, not run control's
  }
  tap_client::TapSettings settings;
  settings.control = std::move(connection.client);
  settings.streams = options.streams;
  settings.every = options.every;
  settings.sources = options.sources;
  settings.answer_ns = static_cast<DurationNs>(options.timeout_s * kSecond);
  tap_client::TapClient tap(std::move(settings));
  const double until = options.duration_s > 0 ? monotonic_now_s() + options.duration_s : 0;
  std::uint64_t taken = 0;
  std::uint64_t known = 0;
  bool told = false;
  bool other_run = false;
  while (g_signalled == 0 && (options.count == 0 || taken < options.count) &&
         (until == 0 || monotonic_now_s() < until)) {
    const auto slice = tap.take(kTakeWait);
    tell_silence(tap, told);
    if (!slice) continue;
    const tap_client::Added added = file ? file->add(slice->record) : tap_client::Added::written;
    other_run = added == tap_client::Added::other_run;
    if (other_run) break;
    known += added == tap_client::Added::known ? 1 : 0;
    taken += added == tap_client::Added::written ? 1 : 0;
    if (!file) print_slice(*slice, options.json);
  }
  if (file) file->close();
  if (other_run)
    fmt::print(stderr, "weir tap: another run began: the file ends here, because it holds one run\n");
  print_end(tap.tally(), known, options);
  return taken > 0 ? 0 : kNothing;
}

int run_tap(const TapOptions& options) {
  transport::handle_signal(SIGINT, [](int) { g_signalled = 1; });
  transport::handle_signal(SIGTERM, [](int) { g_signalled = 1; });
  try {
    if (!options.out.empty() && options.streams.size() > 1)
      throw std::invalid_argument("a file has each slice once: --out allows one --stream");
    return sample(options);
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "weir tap: {}\n", error.what());
    return kUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "weir tap: {}\n", error.what());
    return kUnreachable;
  }
}

}  // namespace

void add_tap(CLI::App& app, int& status) {
  auto options = std::make_shared<TapOptions>();
  CLI::App* tap = app.add_subcommand("tap", "Print samples of the slices of a running farm");
  add_connection_options(*tap, options->connection);
  tap->add_option("--stream", options->streams,
                  "raw (before the filter), accepted, default or debug (default: raw)")
      ->delimiter(',');
  tap->add_option("--every", options->every, "take one in N slices of the stream, at each DCM")
      ->check(CLI::Range(1U, UINT32_MAX));
  tap->add_option("--source", options->sources, "sources to show; default: all")->delimiter(',');
  tap->add_option("--count", options->count, "number of samples after which to end");
  tap->add_option("--duration", options->duration_s, "seconds after which to end")
      ->check(CLI::Range(0.0, 31536000.0));
  tap->add_option("--out", options->out,
                  "run file for the samples, readable by `weir file`, instead of a line each");
  tap->add_option("--timeout", options->timeout_s, "seconds to wait for run control's answer")
      ->check(CLI::Range(0.1, 3600.0));
  tap->add_flag("--json", options->json, "print lines of JSON, the account last");
  tap->callback([options, &status] {
    if (options->streams.empty()) options->streams = {"raw"};
    status = run_tap(*options);
  });
}

}  // namespace weir::commands
