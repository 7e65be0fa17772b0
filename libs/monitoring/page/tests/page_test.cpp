#include "made_up_farm.hpp"
#include "raw_client.hpp"
#include "weir_catch.hpp"
#include <weir/http/client.hpp>
#include <weir/page/page.hpp>

#include <boost/json.hpp>

#include <map>
#include <string>

using namespace weir;
using namespace weir::page;
using Catch::ContainsSubstring;
namespace json = boost::json;

namespace {

struct Served {
  explicit Served(const std::string& token = "sesame")
      : page(settings_with(token),
             [this](const RequestedCommand& command) { return farm.command(command); }) {
    step();
    step();
  }
  static PageSettings settings_with(const std::string& token) {
    PageSettings settings;
    settings.token = token;
    settings.refused_per_minute_max = 5;
    settings.names = {"page.example.org"};
    if (!token.empty())
      settings.people = {{"Ada", PersonRole::shift, "token of Ada"},
                         {"TV", PersonRole::observer, "token of TV"}};
    settings.documents["/api/series"] = [](const RunQuery& query) -> Expected<std::string, std::string> {
      if (query.contains("bad")) return Unexpected<std::string>("a sentence");
      return std::string("{\"names\": []}");
    };
    return settings;
  }
  void step() {
    farm.step();
    page.update(farm.farm());
    for (const LogLine& line : farm.logged()) page.log(line);
  }
  [[nodiscard]] std::string url(const std::string& path) const {
    return "127.0.0.1:" + std::to_string(page.endpoint().port) + path;
  }
  [[nodiscard]] http::ClientResponse get(const std::string& path) const {
    return http::get(url(path)).value();
  }
  [[nodiscard]] http::ClientResponse command(const std::string& body, const std::string& token) const {
    return http::post(url("/api/command"), body, token).value();
  }

  test::MadeUpFarm farm{4, 3, 1};
  Page page;
};

}  // namespace

TEST_CASE("the page and all that it names are served") {
  const Served served;
  const auto page = served.get("/");
  CHECK(page.status == 200);
  CHECK_THAT(page.body, ContainsSubstring("<!doctype html>"));
  for (const char* file :
       {"/page.css", "/icon.svg", "/main.js", "/farm.js", "/plots.js", "/tables.js", "/control.js",
        "/fields.js", "/histograms.js", "/history.js", "/problems.js", "/quality.js", "/settings.js",
        "/runs.js", "/sources.js", "/health.js", "/text.js"}) {
    INFO(file);
    CHECK(served.get(file).status == 200);
  }
  CHECK(served.get("/page.html").status == 404);
  CHECK(served.get("/../etc/passwd").status == 404);
  CHECK_THAT(page.body, !ContainsSubstring("http://") && !ContainsSubstring("https://"));
}

TEST_CASE("runs are found and shown by run control's records, and annotated with the token") {
  std::map<std::string, std::string> asked;
  RequestedCommand said;
  PageSettings settings;
  settings.token = "sesame";
  settings.find_runs = [&](const RunQuery& query) -> Expected<std::string, std::string> {
    asked = query;
    return std::string("{\"runs\": []}");
  };
  settings.show_run = [](const RunQuery&) -> Expected<std::string, std::string> {
    return Unexpected<std::string>("there is no run 9");
  };
  const Page page(settings, [&](const RequestedCommand& command) {
    said = command;
    return CommandAnswer{true, "taken"};
  });
  const std::string url = "127.0.0.1:" + std::to_string(page.endpoint().port);
  CHECK(http::get(url + "/api/runs?text=HV%20trip&limit=5")->body == "{\"runs\": []}");
  CHECK(asked == std::map<std::string, std::string>{{"text", "HV trip"}, {"limit", "5"}});
  const auto none = http::get(url + "/api/run?number=9");
  CHECK(none->status == 400);
  CHECK_THAT(none->body, ContainsSubstring("there is no run 9"));
  const std::string body = R"({"run": 3, "fields": {"quality": "bad"}})";
  CHECK(http::post(url + "/api/annotate", body, "wrong")->status == 401);
  CHECK(http::post(url + "/api/annotate", "{}", "sesame")->status == 400);
  CHECK_FALSE(said.annotation);
  CHECK(http::post(url + "/api/annotate", body, "sesame")->status == 202);
  CHECK(said.annotation);
  CHECK(said.parameters.at("field.quality") == "bad");
}

TEST_CASE("state, history, runs and logs are JSON") {
  const Served served;
  const auto state = json::parse(served.get("/api/state").body).as_object();
  CHECK(state.at("farm") == "made-up");
  CHECK(state.at("members").as_array().size() == 9);
  CHECK(state.at("can_command") == true);
  CHECK(json::parse(served.get("/api/history").body).at("points").as_array().size() == 2);
  CHECK(json::parse(served.get("/api/runs").body).at("runs").as_array().size() == 4);
  const auto lines =
      json::parse(served.get("/api/logs?q=status&level=info&lines=1").body).at("lines").as_array();
  REQUIRE(lines.size() == 1);
  CHECK(lines[0].at("process") == "supervisor");
  CHECK(served.get("/api/logs?level=loud").status == 400);
  CHECK(served.get("/api/logs?lines=many").status == 400);
  CHECK_THAT(served.get("/metrics").body, ContainsSubstring("weir_page_requests_total"));
}

TEST_CASE("histograms are those of this run, or of a recorded one") {
  Served served;
  CHECK(json::parse(served.get("/api/histograms").body).at("histograms").as_array().empty());
  served.page.show_histograms(test::MadeUpFarm::histograms(5, 10));
  CHECK(json::parse(served.get("/api/histograms").body).at("run").as_int64() == 5);
  CHECK(json::parse(served.get("/api/histograms").body).at("histograms").as_array().size() == 3);
  const json::value other = json::parse(served.get("/api/histograms?run=3").body);
  CHECK(other.at("run").as_int64() == 3);
  CHECK(other.at("histograms").as_array().empty());  // no record of it
  CHECK(served.get("/api/histograms?run=../3").status == 400);
}

TEST_CASE("a client with the token can send commands, and receives run control's refusals") {
  Served served;
  CHECK(served.command(R"({"command": "pause"})", "sesame").status == 202);
  CHECK(served.farm.farm().state == control::State::paused);
  const auto refused = served.command(R"({"command": "init"})", "sesame");
  CHECK(refused.status == 409);
  CHECK_THAT(refused.body, ContainsSubstring("the farm is paused"));
  CHECK(served.command("{}", "sesame").status == 400);
  CHECK(served.page.counters().commands_taken == 1);
  CHECK(served.page.counters().commands_refused == 1);
  CHECK(served.page.counters().commands_malformed == 1);
}

TEST_CASE("without the token no command is carried out, and guessing is shut out") {
  Served served;
  CHECK(served.command(R"({"command": "stop"})", "").status == 401);
  for (int i = 0; i < 4; ++i) CHECK(served.command(R"({"command": "stop"})", "guess").status == 401);
  CHECK(served.command(R"({"command": "stop"})", "guess").status == 429);
  CHECK(served.farm.farm().state == control::State::running);
  CHECK(served.page.counters().commands_unauthorised == 5);
  CHECK(served.page.counters().commands_rate_limited == 1);
}

TEST_CASE("a client with the token can send commands, however many wrong tokens its address has sent") {
  Served served;
  for (int i = 0; i < 100; ++i) (void)served.command(R"({"command": "stop"})", "guess");
  CHECK(served.page.counters().commands_rate_limited == 95);
  CHECK(served.command(R"({"command": "pause"})", "sesame").status == 202);
  CHECK(served.farm.farm().state == control::State::paused);
}

TEST_CASE(
    "requests from other sites and redirected names are refused, even with the token; metrics are not") {
  Served served;
  const auto ask = [&](const std::string& method, const std::string& path, const std::string& headers) {
    const std::string body = method == "POST" ? R"({"command": "pause"})" : "";
    http::test::RawClient client(served.page.endpoint());
    client.send(method + " " + path + " HTTP/1.0\r\n" + headers +
                "Authorization: Bearer sesame\r\nContent-Length: " + std::to_string(body.size()) +
                "\r\n\r\n" + body);
    return client.rest();
  };
  CHECK_THAT(ask("POST", "/api/command", "Host: 127.0.0.1\r\nOrigin: http://evil.example\r\n"),
             ContainsSubstring("403") && ContainsSubstring("control.page_names"));
  CHECK_THAT(ask("GET", "/api/state", "Host: evil.example\r\n"),
             ContainsSubstring("421") && ContainsSubstring("'evil.example' is not a name of this page"));
  CHECK_THAT(ask("GET", "/api/events", "Host: evil.example\r\n"), ContainsSubstring("421"));
  CHECK_THAT(ask("GET", "/", "Host: evil.example\r\n"), ContainsSubstring("421"));
  CHECK(served.farm.farm().state == control::State::running);
  CHECK(served.page.counters().requests_foreign == 4);
  CHECK(served.page.counters().commands_unauthorised == 0);
  CHECK_THAT(ask("GET", "/metrics", "Host: evil.example\r\n"),
             ContainsSubstring("200") && ContainsSubstring("weir_page_requests_foreign_total 4"));
  CHECK_THAT(ask("GET", "/", "Host: page.example.org:8443\r\n"), ContainsSubstring("200"));
  CHECK_THAT(ask("POST", "/api/command", "Host: localhost:7790\r\nOrigin: http://localhost:7790\r\n"),
             ContainsSubstring("202"));
}

TEST_CASE("a client can check its token, and wrong guesses count like those of commands") {
  Served served;
  const auto ask = [&](const std::string& token) {
    return http::post(served.url("/api/operator"), "", token).value();
  };
  CHECK(ask("sesame").status == 200);
  CHECK(json::parse(ask("sesame").body).at("taken") == true);
  const auto wrong = ask("guess");
  CHECK(wrong.status == 401);
  CHECK(json::parse(wrong.body).at("taken") == false);
  for (int i = 0; i < 4; ++i) CHECK(ask("guess").status == 401);
  CHECK(ask("guess").status == 429);
  CHECK(ask("sesame").status == 200);
  CHECK(served.page.counters().commands_unauthorised == 5);
}

TEST_CASE("without an operator's token the page is read only") {
  const Served served("");
  CHECK(served.command(R"({"command": "stop"})", "").status == 403);
  CHECK(json::parse(served.get("/api/state").body).at("can_command") == false);
}

TEST_CASE("a token's role decides on its commands, and its name goes with them") {
  Served served;
  const auto act = [&](const std::string& body, const std::string& token) {
    return http::post(served.url("/api/act"), body, token).value();
  };
  const std::string remove = R"({"action": "remove", "nodes": ["dcm-1"]})";
  CHECK(act(remove, "token of TV").status == 403);
  CHECK_THAT(act(remove, "token of Ada").body, ContainsSubstring("this needs the role expert"));
  CHECK(act(remove, "sesame").status == 202);
  CHECK(act(R"({"action": "restart", "nodes": ["dcm-1"]})", "token of Ada").status == 202);
  CHECK(act("{}", "sesame").status == 400);
  CHECK(served.command(R"({"command": "init"})", "token of TV").status == 403);
  const auto who = http::post(served.url("/api/operator"), "", "token of Ada").value();
  CHECK_THAT(who.body, ContainsSubstring("\"role\":\"shift\"") && ContainsSubstring("\"name\":\"Ada\""));
}

TEST_CASE("further documents are served with their query, and their errors as sentences") {
  const Served served;
  CHECK(served.get("/api/series").body == "{\"names\": []}");
  const auto bad = served.get("/api/series?bad=1");
  CHECK(bad.status == 400);
  CHECK_THAT(bad.body, ContainsSubstring("a sentence"));
}
