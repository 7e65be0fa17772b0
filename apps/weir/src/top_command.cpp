#include "commands.hpp"
#include "control_connection.hpp"
#include <weir/base/assert.hpp>
#include <weir/base/text.hpp>
#include <weir/clock/clock.hpp>
#include <weir/config/farm_file.hpp>
#include <weir/config/plan.hpp>
#include <weir/control/states.hpp>
#include <weir/farm_view/live_screen.hpp>
#include <weir/farm_view/top_view.hpp>
#include <weir/http/client.hpp>
#include <weir/node/metrics_export.hpp>
#include <weir/node/recordings.hpp>
#include <weir/ports/endpoint_text.hpp>

#include <CLI/CLI.hpp>
#include <termios.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>
#include <poll.h>
#include <stdexcept>
#include <sys/ioctl.h>
#include <unistd.h>

namespace weir::commands {
namespace {

constexpr double kTimeout_s = 5;  // for run control's answer
constexpr int kLooksForRates = 5;

constexpr const char* kTopFooter =
    "\nFrom run control, found like weir ctl and weir tap do, by --connect, --farm, WEIR_CONNECT, or as "
    "your\n"
    "only farm on this machine:\n"
    "  weir top\n"
    "From run control's page, if only that is reachable:\n"
    "  weir top 127.0.0.1:8080\n"
    "Without run control, from the processes' own metrics (metrics.listen in the farm file):\n"
    "  weir top --farm my-farm.yaml\n"
    "  weir top http://daq-1:9800/metrics http://daq-2:9802/metrics\n"
    "Keys: q ends; p, n, a, s, d, 9, l, c sort by plan, name, state, slices, data, p99, lost, CPU.\n"
    "Piped output prints each frame; --once prints one.";

struct TopOptions {
  std::vector<std::string> places;
  ConnectionOptions connection{{}, {}, {}, "observer"};
  std::vector<std::string> sets;
  std::string sort = "plan";
  double interval_s = 1;
  bool once = false;
  bool targets = false;
};

// Finds the addresses of the processes' metrics in a farm file; returns a message if it has none.
std::string metrics_of_farm(const TopOptions& options, std::vector<std::string>& urls) {
  const std::string& farm_file = options.connection.farm_file;
  auto file = config::load_farm(farm_file);
  if (!file) return config::to_text(file.error());
  for (const std::string& set : options.sets) {
    const auto problems = config::apply_override(file->farm, set, &file->locations);
    if (!problems.empty()) return config::to_text(problems);
  }
  const auto plan = config::expand(file->farm, file->locations, node::read_recording);
  if (!plan) return config::to_text(plan.error());
  for (const config::NodePlan& one : plan->nodes) {
    if (one.masked) continue;
    const ports::Endpoint at = node::metrics_endpoint(file->farm.metrics().listen(), *plan, one.name);
    if (at.port == 0)
      return farm_file + ": metrics.listen gives no ports: set it to HOST:PORT, or name the addresses";
    urls.push_back("http://" + ports::to_text(at) + "/metrics");
  }
  return {};
}

// Prints the format of Prometheus' file_sd_configs.
void print_targets(const std::vector<std::string>& urls) {
  constexpr std::string_view kScheme = "http://";
  constexpr std::string_view kPath = "/metrics";
  std::printf("[{\"targets\": [");
  for (std::size_t i = 0; i < urls.size(); ++i) {
    WEIR_ASSERT(urls[i].starts_with(kScheme) && urls[i].ends_with(kPath));
    const std::string place = urls[i].substr(kScheme.size(), urls[i].size() - kScheme.size() - kPath.size());
    std::printf("%s\"%s\"", i == 0 ? "" : ", ", place.c_str());
  }
  std::printf("]}]\n");
}

// True if run control is available; otherwise only the processes' metrics are.
bool has_run_control(const ConnectionOptions& connection) {
  if (connection.farm_file.empty() || !connection.connect.empty()) return true;
  const auto file = config::load_farm(connection.farm_file);
  return file && !file->farm.control().listen().empty();
}

// Polls run control or the metrics' addresses, and makes a frame of the answers.
class FrameSource {
 public:
  explicit FrameSource(std::vector<std::string> places) : places_(std::move(places)) {}
  // Throws std::invalid_argument, a sentence.
  explicit FrameSource(const ConnectionOptions& connection)
      : control_(std::make_unique<ControlClient>(connection, kTimeout_s)) {}

  // Returns a frame, or a message why there is none.
  Expected<farm_view::TopFrame, std::string> look() {
    if (control_) return look_at_control();
    std::vector<farm_view::TopRow> rows;
    std::vector<std::string> silent;
    for (std::string place : places_) {
      while (place.ends_with('/')) place.pop_back();
      const bool metrics = place.ends_with("/metrics");
      const auto got = ask(metrics ? place : place + "/api/state");
      if (!got) {
        if (!metrics) return Unexpected(got.error());
        silent.push_back(got.error());
        continue;
      }
      if (!metrics) return rates_.of_state(*got);
      auto row = rates_.of_metrics(*got, monotonic_now_ns());
      if (row) {
        rows.push_back(std::move(*row));
      } else {
        silent.push_back(place + ": " + row.error());
      }
    }
    if (rows.empty()) return Unexpected(silent.empty() ? std::string("no processes given") : silent.front());
    farm_view::TopFrame frame = farm_view::TopRates::frame_of(std::move(rows));
    frame.reasons = std::move(silent);
    return frame;
  }
  // A page has rates from the beginning; otherwise rates need a second report.
  [[nodiscard]] bool needs_more(const farm_view::TopFrame& frame, int looks) const {
    WEIR_ASSERT(control_ != nullptr || !places_.empty());
    if (control_ == nullptr) return looks < 2 && places_.front().ends_with("/metrics");
    const auto runs = [](const farm_view::TopRow& row) {
      return row.state == control::name(control::State::running);
    };
    const auto has_rate = [](const farm_view::TopRow& row) { return row.slices_per_s.has_value(); };
    return looks < kLooksForRates && std::any_of(frame.rows.begin(), frame.rows.end(), runs) &&
           std::none_of(frame.rows.begin(), frame.rows.end(), has_rate);
  }

 private:
  Expected<farm_view::TopFrame, std::string> look_at_control() {
    try {
      return rates_.of_view(control_->status());
    } catch (const std::runtime_error& error) {
      return Unexpected<std::string>(error.what());
    }
  }
  static Expected<std::string, std::string> ask(const std::string& url) {
    const http::ClientLimits limits{2 * kSecond, 64U << 20};
    const auto got = http::get(url, limits);
    if (!got) return Unexpected(url + ": " + std::string(http::name(got.error())));
    constexpr unsigned kOk = 200;
    constexpr std::size_t kSaidMax = 300;
    if (got->status != kOk)
      return Unexpected(url + ": status " + std::to_string(got->status) + " " +
                        clean_text(got->body, kSaidMax));
    return got->body;
  }

  std::vector<std::string> places_;
  std::unique_ptr<ControlClient> control_;
  farm_view::TopRates rates_;
};

// The terminal takes single keys while this lives.
class Keys {
 public:
  Keys() : on_(::isatty(STDIN_FILENO) == 1 && ::tcgetattr(STDIN_FILENO, &before_) == 0) {
    if (!on_) return;
    termios raw = before_;
    raw.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO | ISIG);
    ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  }
  ~Keys() {
    if (on_) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
  }
  Keys(const Keys&) = delete;
  Keys& operator=(const Keys&) = delete;

  // Returns the next key, or 0 if none was pressed in time.
  [[nodiscard]] char wait(double seconds) const {
    constexpr double kMsPerS = 1000;
    pollfd one{STDIN_FILENO, POLLIN, 0};
    if (::poll(&one, on_ ? 1 : 0, static_cast<int>(seconds * kMsPerS)) <= 0) return 0;
    char key = 0;
    return ::read(STDIN_FILENO, &key, 1) == 1 ? key : 'q';
  }

 private:
  termios before_{};
  bool on_;
};

bool ends(char key) {
  constexpr char kControlC = 3;
  return key == 'q' || key == kControlC;
}

farm_view::TopSort sort_of(char key, farm_view::TopSort now) {
  constexpr std::string_view kKeys = "pnasd9lc";  // in the order of TopSort
  const std::size_t at = key == 0 ? kKeys.npos : kKeys.find(key);
  return at == kKeys.npos ? now : static_cast<farm_view::TopSort>(at);
}

void print(const std::vector<std::string>& lines, bool terminal) {
  if (terminal) std::fputs("\x1b[H\x1b[J", stdout);
  for (const std::string& line : lines) std::printf("%s\n", line.c_str());
  if (!terminal) std::printf("\n");
  std::fflush(stdout);
}

std::vector<std::string> lines_of(const farm_view::TopFrame& frame, farm_view::TopSort sort, bool terminal) {
  constexpr std::size_t kPlain = 100'000;
  winsize size{};
  if (!terminal || ::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_row < 2 || size.ws_col == 0)
    return farm_view::format_top(frame, sort, kPlain, kPlain);
  return farm_view::format_top(frame, sort, size.ws_col, size.ws_row - 1U);
}

std::unique_ptr<FrameSource> looker_for(const TopOptions& options, std::vector<std::string> places) {
  if (places.empty()) return std::make_unique<FrameSource>(options.connection);
  return std::make_unique<FrameSource>(std::move(places));
}

int top(const TopOptions& options) {
  std::vector<std::string> places = options.places;
  std::string problem;
  if (options.targets && options.connection.farm_file.empty())
    problem = "--targets goes with --farm FARM";
  else if (options.targets || (places.empty() && !has_run_control(options.connection)))
    problem = metrics_of_farm(options, places);
  if (!problem.empty()) {
    std::fprintf(stderr, "%s\n", problem.c_str());
    return kUsage;
  }
  if (options.targets) {
    print_targets(places);
    return 0;
  }
  std::unique_ptr<FrameSource> looker;
  try {
    looker = looker_for(options, std::move(places));
  } catch (const std::invalid_argument& error) {
    std::fprintf(stderr, "weir top: %s\n", error.what());
    return kUsage;
  }
  farm_view::TopSort sort = *farm_view::top_sort(options.sort);
  const bool terminal = farm_view::moves_cursor(stdout) && !options.once;
  std::optional<Keys> keys;
  if (terminal) keys.emplace();
  for (int looks = 1;; ++looks) {
    const auto frame = looker->look();
    if (!frame && (looks == 1 || options.once || !terminal)) {
      keys.reset();
      std::fprintf(stderr, "weir top: %s\n", frame.error().c_str());
      return 1;
    }
    if (!frame) {
      print({"no answer: " + frame.error()}, terminal);
    } else if (terminal || !looker->needs_more(*frame, looks)) {
      print(lines_of(*frame, sort, terminal), terminal);
      if (options.once) return 0;
    }
    const char key = keys ? keys->wait(options.interval_s) : Keys().wait(options.interval_s);
    if (ends(key) && keys) return 0;
    sort = sort_of(key, sort);
  }
}

}  // namespace

void add_top(CLI::App& app, int& status) {
  auto options = std::make_shared<TopOptions>();
  CLI::App* command = app.add_subcommand("top", "Show the processes of a running farm");
  command->footer(kTopFooter);
  command->add_option("WHERE", options->places,
                      "HOST:PORT of run control's page, or URLs ending in /metrics");
  add_connection_options(*command, options->connection);
  command->add_option("--set", options->sets, "key=value: overrides a key of the farm file");
  command->add_option("--sort", options->sort, std::string(farm_view::kTopSorts))
      ->check(CLI::Validator(
          [](std::string& text) {
            return farm_view::top_sort(text) ? std::string() : "one of " + std::string(farm_view::kTopSorts);
          },
          "KEY"))
      ->capture_default_str();
  command->add_option("--interval", options->interval_s, "seconds between two frames")
      ->check(CLI::Range(0.1, 3600.0))
      ->capture_default_str();
  command->add_flag("--targets", options->targets,
                    "with --farm: print the addresses of its metrics, for Prometheus' file_sd_configs");
  command->add_flag("--once", options->once, "print one frame");
  command->callback([options, &status] { status = top(*options); });
}

}  // namespace weir::commands
