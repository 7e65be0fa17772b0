#include "admission.hpp"

#include <weir/base/assert.hpp>

#include <array>

namespace weir::bus {
namespace {

constexpr std::size_t kParts = 7;  // version, request, domain, address, identity, mechanism, key
constexpr std::size_t kRequest = 1;
constexpr std::size_t kAddress = 3;
constexpr std::size_t kMechanism = 5;
constexpr std::size_t kKey = 6;
constexpr std::size_t kKeyBytes = 32;
constexpr const char* kStopEndpoint = "inproc://weir-admission-stop";

std::string z85(const zmq::message_t& key) {
  std::array<char, security::kCurveKeyChars + 1> text{};
  if (key.size() != kKeyBytes ||
      zmq_z85_encode(text.data(), key.data<std::uint8_t>(), kKeyBytes) == nullptr) {
    return {};
  }
  return text.data();
}

}  // namespace

Admission::Admission(zmq::context_t& context, const std::vector<security::AllowedClient>& clients)
    : socket_(context, zmq::socket_type::rep),
      stop_(context, zmq::socket_type::pair),
      stop_sender_(context, zmq::socket_type::pair) {
  for (const security::AllowedClient& one : clients) roles_[one.public_key] = security::name(one.role);
  WEIR_ASSERT(roles_.size() == clients.size());  // a key has one role
  socket_.set(zmq::sockopt::linger, 0);
  socket_.bind("inproc://zeromq.zap.01");
  stop_.bind(kStopEndpoint);
  stop_sender_.connect(kStopEndpoint);
  thread_ = std::thread([this] { serve(); });
}

Admission::~Admission() {
  stop_sender_.send(zmq::message_t(), zmq::send_flags::dontwait);
  thread_.join();
}

std::pair<std::uint64_t, std::string> Admission::refused() const {
  const std::lock_guard lock(mutex_);
  return {refused_, refused_from_};
}

void Admission::serve() {
  std::array<zmq::pollitem_t, 2> items{
      {{socket_.handle(), 0, ZMQ_POLLIN, 0}, {stop_.handle(), 0, ZMQ_POLLIN, 0}}};
  for (;;) {
    zmq::poll(items.data(), items.size(), std::chrono::milliseconds(-1));
    if ((items[1].revents & ZMQ_POLLIN) != 0) return;
    if ((items[0].revents & ZMQ_POLLIN) == 0) continue;
    std::vector<zmq::message_t> parts;
    do {
      if (!socket_.recv(parts.emplace_back())) return;
    } while (parts.back().more());
    answer(parts);
  }
}

void Admission::answer(std::vector<zmq::message_t>& parts) {
  const bool curve = parts.size() == kParts && parts[kMechanism].to_string_view() == "CURVE";
  const auto role = curve ? roles_.find(z85(parts[kKey])) : roles_.end();
  const bool good = role != roles_.end();
  if (!good) {
    const std::lock_guard lock(mutex_);
    ++refused_;
    refused_from_ = parts.size() > kAddress ? parts[kAddress].to_string() : "";
  }
  const std::string request = parts.size() > kRequest ? parts[kRequest].to_string() : "";
  const std::array<std::string, 6> reply = {"1.0",
                                            request,
                                            good ? "200" : "400",
                                            good ? "" : "this key is not on the list",
                                            good ? role->second : "",
                                            ""};
  for (std::size_t i = 0; i < reply.size(); ++i) {
    const auto flags = i + 1 < reply.size() ? zmq::send_flags::sndmore : zmq::send_flags::none;
    socket_.send(zmq::message_t(reply[i].data(), reply[i].size()), flags);
  }
}

}  // namespace weir::bus
