#include <weir/base/assert.hpp>
#include <weir/bus/subscriber.hpp>
#include <weir/clock/clock.hpp>
#include <weir/control/states.hpp>
#include <weir/tap/stream.hpp>
#include <weir/tap_client/tap_client.hpp>
#include <weir/v1/bus.pb.h>

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <stdexcept>
#include <utility>

namespace weir::tap_client {
namespace {

constexpr DurationNs kLook = 50 * kMillisecond;
constexpr DurationNs kFirstRenewal = kSecond;  // until run control has sent the length of a lease
constexpr int kRenewals = 3;                   // renewals per lease

std::string make_id() {
  std::random_device random;
  const std::uint64_t high = random();
  return fmt::format("{:016x}", high << 32U | random());
}

// Divides a tag "tap.STREAM.ID.DCM"; a DCM's name may contain dots.
bool take_apart(const std::string& tag, SampledSlice& out) {
  const std::size_t stream = tag.find('.');
  const std::size_t id = stream == tag.npos ? stream : tag.find('.', stream + 1);
  const std::size_t dcm = id == tag.npos ? id : tag.find('.', id + 1);
  if (dcm == tag.npos) return false;
  out.stream = tag.substr(stream + 1, id - stream - 1);
  out.dcm = tag.substr(dcm + 1);
  return true;
}

}  // namespace

struct TapClient::Core {
  explicit Core(TapSettings wanted)
      : settings(std::move(wanted)), id(make_id()), client(settings.control, {}) {
    ask(false);
    const TimeNs until = asked_ns + settings.answer_ns;
    while (!place.subscribe_port() && monotonic_now_ns() < until) hear(client.wait(kLook));
    if (!place.subscribe_port()) {
      throw std::runtime_error(
          fmt::format("run control at {}:{} does not answer within {} s: check that it is running, that this "
                      "is the port of control.listen and not the page's, and that both have the same keys",
                      settings.control.host, settings.control.port, settings.answer_ns / kSecond));
    }
  }

  void ask(bool ends) {
    v1::BusMessage message;
    v1::Request& request = *message.mutable_request();
    request.set_id(++requests);
    request.set_command(std::string(name(control::RequestKind::tap)));
    v1::TapWish& wish = *request.mutable_tap();
    wish.set_id(id);
    for (const std::string& one : settings.streams) wish.add_streams(one);
    wish.set_every(settings.every);
    wish.mutable_sources()->Add(settings.sources.begin(), settings.sources.end());
    wish.set_ends(ends);
    client.send(message);
    asked_ns = monotonic_now_ns();
  }

  void hear(const std::vector<v1::BusMessage>& messages) {
    for (const v1::BusMessage& message : messages) {
      if (!message.has_reply()) continue;
      if (!message.reply().good()) throw std::runtime_error("run control: " + message.reply().error());
      answered_ns = monotonic_now_ns();
      const bool moved = place.subscribe_port() != message.reply().tap().subscribe_port();
      place = message.reply().tap();
      if (moved) subscribe();
    }
  }

  void subscribe() {
    bus::SubscriberSettings at;
    at.host = settings.control.host;
    at.port = static_cast<std::uint16_t>(place.subscribe_port());
    at.keys = settings.control.keys;
    at.queue_max = settings.queue_max;
    subscriber.emplace(at);
    for (const std::string& tag : place.tags()) subscriber->subscribe(tag);
  }

  void renew_if_due() {
    const DurationNs lease = place.lease_ms() * kMillisecond;
    if (monotonic_now_ns() - asked_ns >= (lease > 0 ? lease / kRenewals : kFirstRenewal)) ask(false);
    hear(client.take());
  }

  std::optional<SampledSlice> decode(bus::Published published) {
    SampledSlice slice;
    slice.bytes = std::make_shared<const std::string>(std::move(published.payload));
    const auto sample =
        tap::parse_sample({reinterpret_cast<const std::byte*>(slice.bytes->data()), slice.bytes->size()});
    const auto record = sample ? storage::parse_slice_record(sample->record)
                               : Unexpected<storage::StorageError>(storage::StorageError::bad_magic);
    if (!record || !take_apart(published.tag, slice)) {
      tally.add_malformed();
      return std::nullopt;
    }
    tally.add(published.tag, sample->head);
    slice.head = sample->head;
    slice.record = *record;
    return slice;
  }

  TapSettings settings;
  std::string id;
  bus::Client client;
  std::optional<bus::Subscriber> subscriber;
  v1::TapPlace place;
  std::uint64_t requests = 0;
  TimeNs asked_ns = 0;
  TimeNs answered_ns = 0;
  tap::Tally tally;
};

TapClient::TapClient(TapSettings settings) : core_(std::make_unique<Core>(std::move(settings))) {}
TapClient::~TapClient() { core_->ask(true); }

std::optional<SampledSlice> TapClient::take(DurationNs wait) {
  const TimeNs until = monotonic_now_ns() + wait;
  do {
    core_->renew_if_due();
    const DurationNs look = std::clamp<DurationNs>(until - monotonic_now_ns(), 0, kLook);
    WEIR_ASSERT(core_->subscriber.has_value());  // the constructor waited for the place
    if (auto published = core_->subscriber->take(look)) {
      if (auto slice = core_->decode(std::move(*published))) return slice;
    }
  } while (monotonic_now_ns() < until);
  return std::nullopt;
}

const tap::Tally& TapClient::tally() const { return core_->tally; }
std::uint32_t TapClient::dcms() const { return core_->place.dcms(); }
DurationNs TapClient::unanswered_ns() const {
  return core_->answered_ns >= core_->asked_ns ? 0 : monotonic_now_ns() - core_->answered_ns;
}

}  // namespace weir::tap_client
