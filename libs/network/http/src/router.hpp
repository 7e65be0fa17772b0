#pragma once

#include <weir/http/server.hpp>

#include <functional>
#include <map>
#include <string>

namespace weir::http {

using Greeting = std::function<std::string(const HttpRequest&)>;

// Finds the handler of a request. Not thread-safe.
class Router {
 public:
  // The contents of a path: handlers by method, or a stream.
  struct Place {
    std::map<std::string, Handler> handlers;
    bool is_stream = false;
    Greeting greeting;
  };

  void add(std::string method, const std::string& path, Handler handler);
  void add_stream(const std::string& path, Greeting greeting);
  // Returns the place of this path, else of its longest prefix that ends in '/' (except "/" itself), else
  // null.
  [[nodiscard]] const Place* find(const std::string& path) const;
  // Returns the place's handler, for HEAD that of GET. Null: the method is not supported there.
  [[nodiscard]] static const Handler* handler(const Place& place, const std::string& method);
  // "GET, HEAD, POST"
  [[nodiscard]] static std::string allowed(const Place& place);

 private:
  std::map<std::string, Place> places_;
};

}  // namespace weir::http
