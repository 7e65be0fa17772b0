#include "name_lookup.hpp"

#include <netdb.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

namespace weir::transport {

TcpEndpoints look_up(const ports::Endpoint& host, bool to_listen) {
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  wanted.ai_flags = to_listen ? AI_PASSIVE : AI_ADDRCONFIG;
  addrinfo* found = nullptr;
  if (::getaddrinfo(host.host.c_str(), std::to_string(host.port).c_str(), &wanted, &found) != 0) return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> owned(found, ::freeaddrinfo);
  TcpEndpoints endpoints;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    boost::asio::ip::tcp::endpoint endpoint;
    if (at->ai_addrlen > endpoint.capacity()) continue;
    std::memcpy(endpoint.data(), at->ai_addr, at->ai_addrlen);
    endpoint.resize(at->ai_addrlen);
    endpoints.push_back(endpoint);
  }
  return endpoints;
}

NameLookup::~NameLookup() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  changed_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void NameLookup::ask(ports::Endpoint host, std::function<void(TcpEndpoints)> answer) {
  {
    const std::lock_guard lock(mutex_);
    questions_.push_back({std::move(host), std::move(answer)});
  }
  changed_.notify_one();
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
}

void NameLookup::run() {
  for (;;) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return ends_ || !questions_.empty(); });
    if (ends_) return;
    const Question question = std::move(questions_.front());
    questions_.pop_front();
    lock.unlock();
    question.answer(look_up(question.host, false));
  }
}

}  // namespace weir::transport
