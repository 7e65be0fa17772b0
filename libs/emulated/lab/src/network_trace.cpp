#include <weir/base/assert.hpp>
#include <weir/lab/network_trace.hpp>

#include <boost/json.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <utility>

namespace weir::lab {
namespace {

namespace json = boost::json;

constexpr DurationNs kNsPerUs = 1000;

std::uint32_t narrow(std::uint64_t value) {
  return static_cast<std::uint32_t>(
      std::min<std::uint64_t>(value, std::numeric_limits<std::uint32_t>::max()));
}

void append_values(const json::value& line, const char* key, std::size_t count,
                   std::vector<std::uint32_t>& values) {
  const json::array& array = line.at(key).as_array();
  if (array.size() != count) throw std::runtime_error(fmt::format("'{}' needs {} numbers", key, count));
  for (const json::value& value : array) values.push_back(value.to_number<std::uint32_t>());
}

}  // namespace

NetworkTrace::NetworkTrace(const std::vector<Port>& ports, std::vector<std::string> requesters,
                           std::size_t values_max)
    : requesters_(std::move(requesters)), values_max_(values_max) {
  for (const Port& port : ports) ports_.push_back({port.name, port.rate_bits_per_s, port.buffer_bytes});
}

void NetworkTrace::take(DurationNs at_ns, std::span<const PortCount> ports,
                        std::span<const std::uint64_t> requests) {
  WEIR_ASSERT(ports.size() == ports_.size() && requests.size() == requesters_.size());
  std::vector<std::uint64_t> now;
  now.reserve(ports.size() + requests.size());
  for (const PortCount& port : ports) now.push_back(port.wire_bytes());
  now.insert(now.end(), requests.begin(), requests.end());
  if (last_.empty()) {
    last_ = std::move(now);
    return;
  }
  if (values_.size() + row() > values_max_) {
    ++left_out_;
    return;
  }
  values_.push_back(narrow(static_cast<std::uint64_t>(std::max<DurationNs>(at_ns, 0) / kNsPerUs)));
  for (std::size_t i = 0; i < ports.size(); ++i) values_.push_back(narrow(now[i] - last_[i]));
  for (const PortCount& port : ports) values_.push_back(narrow(port.backlog_bytes));
  WEIR_ASSERT(last_.size() == now.size());
  for (std::size_t i = ports.size(); i < now.size(); ++i) values_.push_back(narrow(now[i] - last_[i]));
  last_ = std::move(now);
}

TraceSample NetworkTrace::sample(std::size_t i) const {
  WEIR_ASSERT(i < size());
  const std::span<const std::uint32_t> values = std::span(values_).subspan(i * row(), row());
  const std::size_t ports = ports_.size();
  return {values[0], values.subspan(1, ports), values.subspan(1 + ports, ports),
          values.subspan(1 + 2 * ports)};
}

std::string NetworkTrace::to_lines() const {
  json::array ports;
  for (const TracedPort& port : ports_) {
    ports.push_back(json::object{
        {"name", port.name}, {"rate_bits_per_s", port.rate_bits_per_s}, {"buffer_bytes", port.buffer_bytes}});
  }
  std::string text = json::serialize(json::object{{"bench", "network-trace"},
                                                  {"ports", std::move(ports)},
                                                  {"requesters", json::value_from(requesters_)},
                                                  {"samples", size()},
                                                  {"samples_left_out", left_out_}});
  text += '\n';
  for (std::size_t i = 0; i < size(); ++i) {
    const TraceSample one = sample(i);
    fmt::format_to(std::back_inserter(text), "{{\"us\":{},\"sent\":[{}],\"queue\":[{}],\"requests\":[{}]}}\n",
                   one.at_us, fmt::join(one.sent_bytes, ","), fmt::join(one.queue_bytes, ","),
                   fmt::join(one.request_bytes, ","));
  }
  return text;
}

Expected<NetworkTrace, std::string> NetworkTrace::from_lines(const std::string& text) {
  NetworkTrace trace;
  std::istringstream lines(text);
  std::string line;
  std::size_t number = 0;
  try {
    while (std::getline(lines, line)) {
      ++number;
      const json::value value = json::parse(line);
      if (number == 1) {
        for (const json::value& port : value.at("ports").as_array()) {
          trace.ports_.push_back({json::value_to<std::string>(port.at("name")),
                                  port.at("rate_bits_per_s").to_number<std::uint64_t>(),
                                  port.at("buffer_bytes").to_number<std::uint64_t>()});
        }
        trace.requesters_ = json::value_to<std::vector<std::string>>(value.at("requesters"));
        trace.left_out_ = value.at("samples_left_out").to_number<std::uint64_t>();
        continue;
      }
      std::vector<std::uint32_t> row{value.at("us").to_number<std::uint32_t>()};
      append_values(value, "sent", trace.ports_.size(), row);
      append_values(value, "queue", trace.ports_.size(), row);
      append_values(value, "requests", trace.requesters_.size(), row);
      trace.values_.insert(trace.values_.end(), row.begin(), row.end());
    }
  } catch (const std::exception& error) {
    return Unexpected<std::string>(fmt::format("line {} of the network trace: {}", number, error.what()));
  }
  if (number == 0) return Unexpected<std::string>("the network trace is empty");
  return trace;
}

}  // namespace weir::lab
