#pragma once

#include <weir/http/server.hpp>

#include <functional>
#include <map>
#include <string>

namespace weir::http {

using Greeting = std::function<std::string(const Request&)>;

// Which handler a request is for. One thread.
class Router {
 public:
  // What there is at a path: handlers by method, or a stream.
  struct Place {
    std::map<std::string, Handler> handlers;
    bool is_stream = false;
    Greeting greeting;
  };

  void add(std::string method, const std::string& path, Handler handler);
  void add_stream(const std::string& path, Greeting greeting);
  // The place of this path, else the longest one ending in '/' that it begins with (but for "/" itself);
  // null: none.
  [[nodiscard]] const Place* find(const std::string& path) const;
  // The place's handler; HEAD is GET's. Null: the method is not served there.
  [[nodiscard]] static const Handler* handler(const Place& place, const std::string& method);
  // "GET, HEAD, POST"
  [[nodiscard]] static std::string allowed(const Place& place);

 private:
  std::map<std::string, Place> places_;
};

}  // namespace weir::http
