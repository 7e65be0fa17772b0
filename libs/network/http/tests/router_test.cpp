#include "router.hpp"

#include "weir_catch.hpp"

using namespace weir::http;

namespace {

Handler says(const std::string& text) {
  return [text](const HttpRequest&) { return HttpResponse{200, "text/plain", text, {}}; };
}

std::string answer(const Router& router, const std::string& method, const std::string& path) {
  const auto* place = router.find(path);
  if (place == nullptr) return "nothing";
  const Handler* handler = Router::handler(*place, method);
  return handler == nullptr ? "only " + Router::allowed(*place) : (*handler)({}).body;
}

}  // namespace

TEST_CASE("a request goes to the handler of its path and method") {
  Router router;
  router.add("GET", "/", says("page"));
  router.add("GET", "/api/state", says("state"));
  router.add("POST", "/api/state", says("posted"));
  router.add_stream("/api/events", {});
  CHECK(answer(router, "GET", "/") == "page");
  CHECK(answer(router, "HEAD", "/api/state") == "state");
  CHECK(answer(router, "POST", "/api/state") == "posted");
  CHECK(answer(router, "PUT", "/api/state") == "only GET, HEAD, POST");
  CHECK(answer(router, "POST", "/api/events") == "only GET");
  CHECK(answer(router, "GET", "/api") == "nothing");
  CHECK(answer(router, "GET", "/other") == "nothing");
}

TEST_CASE("a path that ends in a slash serves all paths below it, the longest prefix first") {
  Router router;
  router.add("GET", "/a/", says("short"));
  router.add("GET", "/a/b/", says("long"));
  CHECK(answer(router, "GET", "/a/x") == "short");
  CHECK(answer(router, "GET", "/a/b/x") == "long");
  CHECK(answer(router, "GET", "/a") == "nothing");
}
