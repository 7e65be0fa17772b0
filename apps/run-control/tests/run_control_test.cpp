#include "weir_catch.hpp"
#include <weir/base/scratch_folder.hpp>
#include <weir/base/time.hpp>
#include <weir/bus/client.hpp>
#include <weir/run_control/run_control.hpp>

#include <chrono>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

using namespace weir;
using namespace weir::run_control;

namespace {

// A process of the farm. Its connection may also ask, because the bus has no keys.
class FarmProcess {
 public:
  FarmProcess(std::string name, std::uint16_t port) : name_(std::move(name)), client_(at(port), {}) {
    v1::BusMessage message;
    v1::Join& join = *message.mutable_join();
    join.set_farm("small");
    join.set_name(name_);
    join.set_incarnation(1);
    join.mutable_state()->set_state("idle");
    client_.send(message);
  }

  // Carries out the orders that have arrived.
  void answer_orders() {
    for (const v1::BusMessage& message : client_.take()) {
      if (message.has_order()) answer(message.order(), {});
    }
  }
  // Refuses a configure, when it has arrived, and asks for the farm's state at once. Returns whether it did.
  bool refuse_and_ask() {
    bool has_refused = false;
    for (const v1::BusMessage& message : client_.take()) {
      if (!message.has_order()) continue;
      answer(message.order(), "the plugin cannot be used");
      has_refused = true;
    }
    if (!has_refused) return false;
    v1::BusMessage message;
    message.mutable_request()->set_command("status");
    client_.send(message);
    return true;
  }
  [[nodiscard]] std::optional<v1::FarmView> shown() {
    for (const v1::BusMessage& message : client_.take()) {
      if (message.has_reply()) return message.reply().view();
    }
    return std::nullopt;
  }

 private:
  static bus::ClientSettings at(std::uint16_t port) {
    bus::ClientSettings settings;
    settings.host = "127.0.0.1";
    settings.port = port;
    return settings;
  }
  void answer(const v1::Order& order, const std::string& error) {
    v1::BusMessage message;
    v1::Answer& answer = *message.mutable_answer();
    answer.set_id(order.id());
    answer.set_good(error.empty());
    answer.set_error(error);
    answer.set_wrong_settings(!error.empty());
    if (error.empty()) {
      state_ = order.command() == "configure" ? "ready" : "standby";
      epoch_ = order.epoch();
    }
    answer.mutable_state()->set_state(state_);
    answer.mutable_state()->set_epoch(epoch_);
    client_.send(message);
  }

  std::string name_;
  std::string state_ = "idle";
  std::uint64_t epoch_ = 0;
  bus::Client client_;
};

v1::Request request(const std::string& command) {
  v1::Request made;
  made.set_command(command);
  return made;
}

}  // namespace

TEST_CASE("a view that shows a refused configure has the event with its reason, in the same turn") {
  const ScratchFolder folder;
  const std::string file = folder.path() / "farm.yaml";
  std::ofstream(file) << "farm: small\nrun: {out: '" << folder.path().string() << "'}\n";
  RunControlSettings settings;
  settings.farm_file = file;
  settings.listen = "127.0.0.1:0";
  settings.page = "";
  RunControl control(std::move(settings));
  std::vector<std::unique_ptr<FarmProcess>> processes;
  const v1::FarmView before = control.view();
  for (const v1::FarmView::Node& node : before.nodes())
    processes.push_back(std::make_unique<FarmProcess>(node.name(), control.hub().port()));
  const auto pass_until = [&](const std::string& state) {
    for (int i = 0; i < 3000 && control.view().state() != state; ++i) {
      control.turn(10 * kMillisecond);
      for (const auto& one : processes) one->answer_orders();
    }
    REQUIRE(control.view().state() == state);
  };
  REQUIRE(control.request(request("init")).good());
  pass_until("standby");
  REQUIRE(control.request(request("configure")).good());
  bool has_refused = false;
  for (int i = 0; i < 3000 && !has_refused; ++i) {
    control.turn(kMillisecond);
    has_refused = processes.back()->refuse_and_ask();
  }
  REQUIRE(has_refused);
  // Both messages are there when the next turn begins, and are taken in their order.
  std::this_thread::sleep_for(std::chrono::milliseconds(100));
  std::optional<v1::FarmView> shown;
  for (int i = 0; i < 3000 && !shown; ++i) {
    control.turn(kMillisecond);
    shown = processes.back()->shown();
  }
  REQUIRE(shown);
  CHECK(shown->state() == "standby");
  CHECK(shown->under_way().empty());
  REQUIRE(shown->events_size() > 0);
  const std::string& last = shown->events(shown->events_size() - 1).text();
  CHECK(last.find("configure is refused: ") == 0);
  CHECK(last.find("the plugin cannot be used") != std::string::npos);
}

TEST_CASE(
    "an alarm is raised, acknowledged by a person, and still acknowledged after a restart of run control") {
  const ScratchFolder folder;
  const std::string file = folder.path() / "farm.yaml";
  std::ofstream(file) << "farm: small\nrun: {out: '" << folder.path().string()
                      << "'}\ncontrol: {alarms: {raise_after_s: 0, rules: [{name: unused, state: idle}]}}\n";
  const auto made = [&] {
    RunControlSettings settings;
    settings.farm_file = file;
    settings.listen = "127.0.0.1:0";
    settings.page = "";
    return std::make_unique<RunControl>(std::move(settings));
  };
  v1::Request ack = request("alarm");
  ack.mutable_alarm()->set_what("ack");
  ack.mutable_alarm()->set_alarm("unused");
  ack.mutable_alarm()->set_person("Ada");
  auto control = made();
  CHECK(control->request(ack).error() == "no alarm 'unused' is active");
  const auto shown = [&] {
    const v1::FarmView view = control->view();
    for (const v1::Alarm& one : view.alarms()) {
      if (one.name() == "unused") return one;
    }
    return v1::Alarm();
  };
  for (int i = 0; i < 300 && shown().name().empty(); ++i) control->turn(10 * kMillisecond);
  REQUIRE(shown().reason() == "the farm is idle");
  CHECK(control->request(ack).good());
  control->turn(kMillisecond);
  control = made();
  CHECK(shown().acked_by() == "Ada");
}

TEST_CASE(
    "a report that is too long to be one is counted and not read, and a long one of the supervisor is") {
  const ScratchFolder folder;
  const std::string file = folder.path() / "farm.yaml";
  std::ofstream(file) << "farm: small\nrun: {out: '" << folder.path().string() << "'}\n";
  RunControlSettings settings;
  settings.farm_file = file;
  settings.listen = "127.0.0.1:0";
  RunControl control(std::move(settings));
  bus::ClientSettings at;
  at.host = "127.0.0.1";
  at.port = control.hub().port();
  bus::Client client(at, {});
  client.publish_to(control.hub().publish_port());
  v1::Report report;
  report.set_now_ns(1);
  for (int i = 0; i < 40'000; ++i)
    (*report.mutable_counters())["a counter of a long name, number " + std::to_string(i)] = 1'000'000;
  const std::string bytes = report.SerializeAsString();
  REQUIRE((bytes.size() > 1U << 20 && bytes.size() < 8U << 20));
  const auto publish = [&](const std::string& tag) {
    (void)client.publish(tag, {reinterpret_cast<const std::byte*>(bytes.data()), bytes.size()});
  };
  const auto of_supervisor = [&] {
    const v1::FarmView view = control.view();
    for (const auto& node : view.nodes()) {
      if (node.name() == "supervisor") return node.report().counters_size();
    }
    return 0;
  };
  const auto refused = [&] { return control.view().counters().at("bus.too_long_published"); };
  // The first ones may be lost while the subscription is being made.
  for (int i = 0; i < 1000 && (refused() < 2 || of_supervisor() == 0); ++i) {
    if (i % 20 == 0) {
      publish("report.readout-0");
      publish("report.supervisor");
    }
    control.turn(10 * kMillisecond);
  }
  CHECK(refused() >= 2);
  CHECK(of_supervisor() == 40'000);
  int told = 0;
  const v1::FarmView view = control.view();
  for (const auto& line : view.events()) told += line.text().find("report.readout-0 of ") == 0 ? 1 : 0;
  CHECK(told == 1);
  for (const auto& node : view.nodes())
    CHECK((node.name() == "supervisor" || node.report().counters_size() == 0));
}
