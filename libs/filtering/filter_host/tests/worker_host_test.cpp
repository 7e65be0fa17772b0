// Workers that exist only in the test: their messages and their end in any order.
#include "weir_catch.hpp"
#include <weir/filter_host/worker_units.hpp>

#include <deque>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using Catch::ContainsSubstring;
using namespace weir;
using namespace weir::filter_host;

namespace {

// Messages of a process, and its end. Between two looks at it, `between_looks` is called once.
struct FakeLife {
  std::deque<v1::WorkerMessage> sent;
  std::optional<worker_pool::WorkerEnd> end;
  std::function<void(FakeLife&)> between_looks;

  void look() {
    if (auto act = std::exchange(between_looks, nullptr)) act(*this);
  }
};

class FakeProcess final : public WorkerProcess {
 public:
  FakeProcess(FakeLife& life, const LaneLayout& layout)
      : life_(life),
        memory_(static_cast<std::byte*>(::operator new(layout.bytes, kAlignment))),
        lane_({memory_, layout.bytes}, layout) {
    new (memory_) LaneHeader;
  }
  FakeProcess(const FakeProcess&) = delete;
  FakeProcess& operator=(const FakeProcess&) = delete;
  ~FakeProcess() override { ::operator delete(memory_, kAlignment); }
  [[nodiscard]] const LaneView& lane() const override { return lane_; }
  void send(const v1::WorkerMessage& message) override { (void)message; }
  [[nodiscard]] bool receive(v1::WorkerMessage& message) override {
    if (life_.sent.empty()) {
      life_.look();
      return false;
    }
    message = life_.sent.front();
    life_.sent.pop_front();
    return true;
  }
  void wake() override {}
  void end_in_order() override { life_.end = worker_pool::WorkerEnd{worker_pool::EndKind::exit, "status 0"}; }
  void kill(bool hard) override {
    life_.end = worker_pool::WorkerEnd{worker_pool::EndKind::signal, hard ? "9" : "3"};
  }
  [[nodiscard]] std::optional<worker_pool::WorkerEnd> end() override {
    const auto seen = life_.end;
    life_.look();
    return seen;
  }
  [[nodiscard]] std::int64_t pid() const override { return 1; }

 private:
  static constexpr std::align_val_t kAlignment{alignof(LaneHeader)};

  FakeLife& life_;
  std::byte* memory_;
  LaneView lane_;
};

class FakeHost final : public WorkerHost {
 public:
  [[nodiscard]] Expected<std::unique_ptr<WorkerProcess>, std::string> start(
      const LaneLayout& layout) override {
    lives.push_back(std::make_unique<FakeLife>());
    if (at_start) at_start(*lives.back());
    return std::unique_ptr<WorkerProcess>(std::make_unique<FakeProcess>(*lives.back(), layout));
  }
  void wait(DurationNs patience_ns) override { now += patience_ns; }
  [[nodiscard]] bool has_news() override { return true; }
  [[nodiscard]] TimeNs now_ns() const override { return now; }

  std::vector<std::unique_ptr<FakeLife>> lives;
  std::function<void(FakeLife&)> at_start;
  TimeNs now = kSecond;
};

// A worker's last message and its end, both between two looks of the DCM.
void refuse_and_end(FakeLife& life) {
  v1::WorkerMessage message;
  message.mutable_refused()->set_text("no calibration for run 7");
  life.sent.push_back(message);
  life.end = worker_pool::WorkerEnd{worker_pool::EndKind::exit, "exit status 1"};
}

std::unique_ptr<WorkerUnits> launch(FakeHost& host) {
  WorkerUnitsOptions options;
  options.pool.workers = 1;
  options.pool.spares = 0;
  options.rows_max = 1;
  FilterConfig config;
  config.limits.event_bytes_max = 1024;
  return WorkerUnits::launch("scripted", {WEIR_TEST_PLUGIN_DIR}, config, options, host);
}

v1::WorkerMessage ready() {
  v1::WorkerMessage message;
  message.mutable_ready()->set_name("scripted");
  return message;
}

}  // namespace

TEST_CASE("the sentence of a worker that refuses and ends is read, whenever the DCM looks") {
  for (const bool in_create : {true, false}) {
    INFO("refuses to " << (in_create ? "create its filter" : "begin the run"));
    FakeHost host;
    host.at_start = [&](FakeLife& life) {
      if (in_create) {
        life.between_looks = refuse_and_end;
      } else {
        life.sent.push_back(ready());
      }
    };
    const auto units = launch(host);
    auto started = units->wait_for_start();
    if (!in_create) {
      REQUIRE(started);
      host.lives.front()->between_looks = refuse_and_end;
      REQUIRE(units->begin_run(RunInfo{}));
      started = units->wait_for_start();
    }
    REQUIRE_FALSE(started);
    CHECK(started.error().text == "no calibration for run 7");
  }
}

TEST_CASE("the sentence of a replaced worker that refuses the run becomes the fault's") {
  FakeHost host;
  host.at_start = [](FakeLife& life) {
    v1::WorkerMessage begun;
    (void)begun.mutable_begun();
    life.sent = {ready(), begun};
  };
  const auto units = launch(host);
  REQUIRE(units->wait_for_start());
  REQUIRE(units->begin_run(RunInfo{}));
  host.lives.front()->sent.push_back([] {
    v1::WorkerMessage begun;
    (void)begun.mutable_begun();
    return begun;
  }());
  REQUIRE(units->wait_for_start());
  host.at_start = [](FakeLife& life) { life.between_looks = refuse_and_end; };
  host.lives.front()->end = worker_pool::WorkerEnd{worker_pool::EndKind::signal, "signal 9"};
  std::vector<FilterResult*> results;
  for (int pass = 0; pass < 100 && units->figures().replaced.empty(); ++pass) {
    host.now += 10 * kMillisecond;
    units->drain(results);
    units->flush();
  }
  CHECK(units->figures().replaced == "no calibration for run 7");
}
