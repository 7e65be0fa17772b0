#include "records.hpp"
#include "weir_catch.hpp"
#include <weir/bus/hub.hpp>
#include <weir/tap/stream.hpp>
#include <weir/tap_client/tap_client.hpp>
#include <weir/v1/bus.pb.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stdexcept>
#include <thread>

using namespace weir;
using namespace weir::tap_client;

namespace {

// Replies to tap requests, and publishes samples like a DCM.
class Farm final : private bus::HubHandler {
 public:
  explicit Farm(std::string refusal = {}) : refusal_(std::move(refusal)), hub_({}) {
    port = hub_.port();
    thread_ = std::thread([this] {
      while (!over_) {
        hub_.poll(2 * kMillisecond, *this);
        const std::lock_guard lock(mutex_);
        for (const auto& [tag, bytes] : queue_) hub_.publish(tag, bytes);
        queue_.clear();
      }
    });
  }
  ~Farm() override {
    over_ = true;
    thread_.join();
  }
  void publish(const tap::SampleHead& head, const std::vector<std::byte>& record) {
    const std::lock_guard lock(mutex_);
    auto& [tag, bytes] = queue_.emplace_back(prefix_ + "dcm-0", std::vector<std::byte>());
    tap::encode_sample_head(head, bytes);
    bytes.insert(bytes.end(), record.begin(), record.end());
  }
  // Waits for five seconds at most.
  bool wait_for_end() {
    std::unique_lock lock(mutex_);
    return ended_.wait_for(lock, std::chrono::seconds(5), [this] { return ends; });
  }

  std::uint16_t port = 0;
  std::atomic<int> wishes = 0;
  bool ends = false;

 private:
  void on_message(const bus::Sender& from, const v1::BusMessage& message) override {
    const v1::TapWish& wish = message.request().tap();
    v1::BusMessage answer;
    answer.mutable_reply()->set_id(message.request().id());
    answer.mutable_reply()->set_good(refusal_.empty());
    answer.mutable_reply()->set_error(refusal_);
    v1::TapPlace& place = *answer.mutable_reply()->mutable_tap();
    place.set_subscribe_port(hub_.subscribe_port());
    place.set_lease_ms(300);
    place.set_dcms(1);
    for (const std::string& name : wish.streams()) place.add_tags(tap::tag_prefix(name, wish.id()));
    {
      const std::lock_guard lock(mutex_);
      prefix_ = place.tags(0);
      ends = wish.ends();
    }
    ended_.notify_all();
    ++wishes;
    hub_.send(from.id, answer);
  }
  void on_published(std::string_view, ConstBytes) override {}

  std::string refusal_;
  bus::Hub hub_;
  std::mutex mutex_;
  std::condition_variable ended_;
  std::string prefix_;
  std::vector<std::pair<std::string, std::vector<std::byte>>> queue_;
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

TapSettings settings_of(const Farm& farm) {
  TapSettings settings;
  settings.control.host = "127.0.0.1";
  settings.control.port = farm.port;
  settings.streams = {"raw"};
  return settings;
}

// Publishes until a sample arrives, because a late subscriber misses the first ones.
std::optional<SampledSlice> first_of(Farm& farm, TapClient& tap, std::uint64_t& sequence) {
  for (int i = 0; i < 100; ++i) {
    farm.publish({1, sequence, 0, sequence + 1}, tap_client::test::make_record(sequence, 4, 10));
    ++sequence;
    if (auto slice = tap.take(100 * kMillisecond)) return slice;
  }
  return std::nullopt;
}

}  // namespace

TEST_CASE("a client receives the slices published for it, and counts the gaps between them") {
  Farm farm;
  TapClient tap(settings_of(farm));
  CHECK(tap.dcms() == 1);
  std::uint64_t sequence = 5;
  const auto first = first_of(farm, tap, sequence);
  REQUIRE(first);
  CHECK(first->stream == "raw");
  CHECK(first->dcm == "dcm-0");
  REQUIRE(first->record.fragment_count() == 2);
  CHECK(storage::fragment_is_sound(first->record.fragment(1)));
  while (tap.take(200 * kMillisecond)) {
  }
  CHECK(tap.tally().lost() == 0);
  farm.publish({1, sequence + 3, 0, sequence + 4}, tap_client::test::make_record(77, 4, 10));
  const auto later = tap.take(5 * kSecond);
  REQUIRE(later);
  CHECK(later->record.head().slice == SliceId(77));
  CHECK(tap.tally().lost() == 3);
}

TEST_CASE("a client renews its request in time, and reports when it leaves") {
  Farm farm;
  {
    TapClient tap(settings_of(farm));
    CHECK_FALSE(tap.take(kSecond));
    CHECK(farm.wishes >= 4);
  }
  CHECK(farm.wait_for_end());
}

TEST_CASE("a malformed sample is counted, and the next one still arrives") {
  Farm farm;
  TapClient tap(settings_of(farm));
  std::uint64_t sequence = 0;
  REQUIRE(first_of(farm, tap, sequence));
  while (tap.take(200 * kMillisecond)) {
  }
  farm.publish({1, sequence, 0, 0}, {});
  auto damaged = tap_client::test::make_record(5, 4, 10);
  damaged[30] ^= std::byte{1};
  farm.publish({1, sequence, 0, 0}, damaged);
  farm.publish({1, sequence, 0, 0}, tap_client::test::make_record(6, 4, 10));
  const auto good = tap.take(5 * kSecond);
  REQUIRE(good);
  CHECK(good->record.head().slice == SliceId(6));
  CHECK(tap.tally().malformed() == 2);
}

TEST_CASE("run control's refusal, or its silence, is an error that says so") {
  Farm farm("tap: no stream 'cooked'");
  CHECK_THROWS_WITH(TapClient(settings_of(farm)), Catch::Matchers::ContainsSubstring("no stream 'cooked'"));
  TapSettings nobody;
  nobody.control.host = "127.0.0.1";
  nobody.control.port = 1;
  nobody.streams = {"raw"};
  nobody.answer_ns = 200 * kMillisecond;
  CHECK_THROWS_WITH(TapClient(nobody), Catch::Matchers::ContainsSubstring("does not answer"));
}
