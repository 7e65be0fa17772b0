#include "alarm_exports.hpp"
#include "commands.hpp"
#include "control_connection.hpp"
#include <weir/base/figures.hpp>
#include <weir/clock/clock.hpp>
#include <weir/control/states.hpp>
#include <weir/v1/bus.pb.h>

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <string>

namespace weir::commands {
namespace {

constexpr int kRefused = 1;  // by run control, or a channel does not deliver
constexpr double kTestLimitS = 620;

struct AlarmOptions {
  ConnectionOptions connection{{}, {}, {}, "operator"};
  double timeout_s = 5;
  v1::AlarmWish wish;
  std::string farm_file;
};

std::string state_of(const v1::FarmView::AlarmChannel& channel) {
  std::string text = fmt::format("{} sent, {} failed", channel.sent(), channel.failed());
  if (channel.sent_utc_ns() > 0) text += ", the last one " + utc_text(channel.sent_utc_ns());
  if (channel.waiting() > 0) text += fmt::format(", {} waiting", counted(channel.waiting(), "alarm"));
  return channel.error().empty() ? text : text + "; DOWN: " + channel.error();
}

void print_alarms(const v1::FarmView& view) {
  if (view.alarms_size() == 0) fmt::print("no alarm is active\n");
  for (const v1::Alarm& one : view.alarms()) {
    fmt::print("{}: {}: {}\n  since {}{}\n", one.gravity(), one.name(), one.reason(),
               utc_text(one.since_utc_ns()),
               one.acked_by().empty() ? "" : ", acknowledged by " + one.acked_by());
  }
  for (const v1::AlarmShelf& one : view.shelves())
    fmt::print("shelved: {} by {} until {}\n", one.name(), one.by(), utc_text(one.until_utc_ns()));
  for (const v1::FarmView::AlarmChannel& one : view.alarm_channels())
    fmt::print("channel {} ({}): {}\n", one.name(), one.by(), state_of(one));
}

v1::Reply ask(ControlClient& ctl, const AlarmOptions& options) {
  v1::Request request;
  request.set_command(std::string(name(control::RequestKind::alarm)));
  *request.mutable_alarm() = options.wish;
  return ctl.ask(request);
}

// Waits until each channel has delivered the test or failed.
int follow_test(ControlClient& ctl, const v1::FarmView& before) {
  const double until_s = monotonic_now_s() + kTestLimitS;
  v1::FarmView now = before;
  const auto is_over = [&](int i) {
    return now.alarm_channels(i).sent() + now.alarm_channels(i).failed() >
           before.alarm_channels(i).sent() + before.alarm_channels(i).failed();
  };
  std::vector<bool> told(static_cast<std::size_t>(before.alarm_channels_size()));
  int status = 0;
  while (std::ranges::count(told, false) > 0 && monotonic_now_s() < until_s) {
    ctl.pause();
    now = ctl.status();
    if (now.alarm_channels_size() != before.alarm_channels_size()) break;
    for (int i = 0; i < now.alarm_channels_size(); ++i) {
      if (told[static_cast<std::size_t>(i)] || !is_over(i)) continue;
      told[static_cast<std::size_t>(i)] = true;
      const v1::FarmView::AlarmChannel& channel = now.alarm_channels(i);
      fmt::print("{}: {}\n", channel.name(),
                 channel.error().empty() ? "delivered" : "FAILED: " + channel.error());
      if (!channel.error().empty()) status = kRefused;
    }
  }
  return std::ranges::count(told, false) > 0 ? kRefused : status;
}

int carry_out(const AlarmOptions& options) {
  ControlClient ctl(options.connection, options.timeout_s);
  const v1::FarmView before = ctl.status();
  if (options.wish.what().empty()) {
    print_alarms(before);
    return 0;
  }
  const v1::Reply reply = ask(ctl, options);
  if (!reply.good()) {
    fmt::print(stderr, "weir alarm: {}\n", reply.error());
    return kRefused;
  }
  return options.wish.what() == "test" ? follow_test(ctl, before) : 0;
}

int run_alarm(const AlarmOptions& options) {
  try {
    return carry_out(options);
  } catch (const std::invalid_argument& error) {
    fmt::print(stderr, "weir alarm: {}\n", error.what());
    return kUsage;
  } catch (const std::exception& error) {
    fmt::print(stderr, "weir alarm: {}\n", error.what());
    return kUnreachable;
  }
}

}  // namespace

void add_alarm(CLI::App& app, int& status) {
  auto options = std::make_shared<AlarmOptions>();
  CLI::App* alarm = app.add_subcommand("alarm", "List, acknowledge, shelve and test the alarms of a farm");
  alarm->require_subcommand(1);
  add_connection_options(*alarm, options->connection);
  alarm->add_option("--timeout", options->timeout_s, "seconds to wait for an answer (default 5)")
      ->take_last()
      ->check(CLI::Range(0.1, 3600.0));
  const auto add = [&](const char* name, const char* what, const char* help) {
    CLI::App* command = alarm->add_subcommand(name, help);
    command->fallthrough();
    command->callback([options, what, &status] {
      options->wish.set_what(what);
      status = run_alarm(*options);
    });
    return command;
  };
  const auto add_person = [&](CLI::App& command) {
    command
        .add_option_function<std::string>(
            "--by", [options](const std::string& by) { options->wish.set_person(by); },
            "your name for the history (default: user and host)")
        ->type_name("NAME");
  };
  const auto add_name = [&](CLI::App& command, const char* help) {
    return command.add_option_function<std::string>(
        "alarm", [options](const std::string& name) { options->wish.set_alarm(name); }, help);
  };
  add("list", "", "Show active alarms, shelved ones, and the channels");
  CLI::App* ack = add("ack", "ack", "Acknowledge an alarm, or all: no reminders until it gets worse");
  add_name(*ack, "name of the alarm; without one, all active alarms");
  add_person(*ack);
  CLI::App* shelve = add("shelve", "shelve", "Send nothing about an alarm for a time");
  add_name(*shelve, "name of the alarm, active or not")->required();
  options->wish.set_for_s(3600);
  shelve
      ->add_option_function<double>(
          "--hours", [options](double hours) { options->wish.set_for_s(3600 * hours); },
          "time for which it is shelved, in hours (default 1)")
      ->check(CLI::Range(0.001, 720.0));
  add_person(*shelve);
  CLI::App* unshelve = add("unshelve", "unshelve", "End the shelving of an alarm");
  add_name(*unshelve, "name of the alarm")->required();
  add_person(*unshelve);
  add_person(*add("test", "test", "Send a test message on every channel, and show which are delivered"));
  CLI::App* rules =
      alarm->add_subcommand("rules", "Print the farm file's alarms as alert rules of Prometheus");
  rules->add_option("FARM", options->farm_file, "farm file (YAML)")->required();
  rules->callback([options, &status] { status = print_alert_rules(options->farm_file); });
  CLI::App* manager = alarm->add_subcommand(
      "alertmanager", "Print the farm file's channels as a configuration of Alertmanager");
  manager->add_option("FARM", options->farm_file, "farm file (YAML)")->required();
  manager->callback([options, &status] { status = print_alertmanager(options->farm_file); });
}

}  // namespace weir::commands
