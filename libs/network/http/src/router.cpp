#include "router.hpp"

#include <weir/base/assert.hpp>

namespace weir::http {

void Router::add(std::string method, const std::string& path, Handler handler) {
  WEIR_ASSERT(path.starts_with('/') && !places_[path].handlers.contains(method));
  places_[path].handlers[std::move(method)] = std::move(handler);
}

void Router::add_stream(const std::string& path, Greeting greeting) {
  WEIR_ASSERT(path.starts_with('/') && !places_[path].is_stream);
  places_[path].is_stream = true;
  places_[path].greeting = std::move(greeting);
}

const Router::Place* Router::find(const std::string& path) const {
  if (const auto exact = places_.find(path); exact != places_.end()) return &exact->second;
  const Place* best = nullptr;
  for (const auto& [prefix, place] : places_) {
    // The map is sorted: a longer prefix of the same path comes later.
    if (prefix.size() > 1 && prefix.back() == '/' && path.starts_with(prefix)) best = &place;
  }
  return best;
}

const Handler* Router::handler(const Place& place, const std::string& method) {
  const auto found = place.handlers.find(method == "HEAD" ? "GET" : method);
  return found == place.handlers.end() ? nullptr : &found->second;
}

std::string Router::allowed(const Place& place) {
  if (place.is_stream) return "GET";
  std::string methods;
  for (const auto& [method, handler] : place.handlers) {
    methods += (methods.empty() ? "" : ", ") + method;
    if (method == "GET") methods += ", HEAD";
  }
  return methods;
}

}  // namespace weir::http
