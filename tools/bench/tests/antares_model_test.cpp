#include "weir_catch.hpp"
#include <weir/bench/antares_model.hpp>

#include <boost/json.hpp>

#include <algorithm>
#include <set>

namespace weir::bench {
namespace {

const ModelRow& row_named(const std::string& name) {
  const auto found = std::ranges::find(model_rows(), name, &ModelRow::name);
  REQUIRE(found != model_rows().end());
  return *found;
}

}  // namespace

TEST_CASE("the model has the thesis' 23 rows, each with a name of its own and criteria that can fail") {
  std::set<std::string> names;
  std::size_t judged = 0;
  for (const ModelRow& row : model_rows()) {
    CHECK(names.insert(row.name).second);
    judged += row.judged ? 1 : 0;
    for (const ModelCriterion& criterion : model_criteria(row))
      CHECK((!criterion.met(1e9) || !criterion.met(-1e9)));
  }
  CHECK(judged == 23);
}

TEST_CASE("a row without a loss is judged within 1.3 and by no retransmission, one with losses within 3") {
  const auto criteria = model_criteria(row_named("tcp-k15"));
  REQUIRE(criteria.size() == 4);
  CHECK(criteria[0].met(0.008));
  CHECK_FALSE(criteria[0].met(0.0105));
  CHECK(criteria[3].met(0));
  CHECK_FALSE(criteria[3].met(1e-6));
  const auto lossy = model_criteria(row_named("tcp-direct-2-strings"));
  CHECK(lossy[0].met(0.7));
  CHECK_FALSE(lossy[0].met(0.8));
  CHECK_FALSE(lossy[3].met(0));
  const auto udp = model_criteria(row_named("udp-k8-sector"));
  CHECK(udp[0].met(0));
  CHECK_FALSE(udp[0].met(0.01));
}

TEST_CASE("a row has the same line in each run, and the page judges it") {
  AntaresModelOptions options;
  options.seconds = 2;
  const ModelRow& row = row_named("tcp-k8-sector");
  const Line line = model_line(row, ModelSender::reno, options);
  CHECK(line == model_line(row, ModelSender::reno, options));
  CHECK(number_of(line, "mean_ms") == Approx(5.4).epsilon(0.02));
  CHECK(number_of(line, "delivered") == 1000);
  const std::string page = antares_model_page({line}, options);
  CHECK(page == antares_model_page({line}, options));
  CHECK(page.find(
            "| met | not simulated | tcp-k8-sector | Table 4.2: 0.005 s on average | 0.0038 to 0.0065 s |") !=
        std::string::npos);
  CHECK(page.find("| not simulated | not simulated | tcp-k15 |") != std::string::npos);
}

TEST_CASE("earlier lines give the page of their run again, and lines of another bench are refused") {
  AntaresModelOptions options;
  options.seconds = 1;
  const Line line = model_line(row_named("udp-direct-sector"), ModelSender::udp, options);
  const auto page = judge_model(boost::json::serialize(line) + "\n", {});
  REQUIRE(page);
  CHECK(*page == antares_model_page({line}, options));
  CHECK_FALSE(judge_model("{\"bench\":\"rcnp\"}\n", {}));
}

}  // namespace weir::bench
