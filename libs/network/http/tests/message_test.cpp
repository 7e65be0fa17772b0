#include "weir_catch.hpp"
#include <weir/http/message.hpp>

using weir::http::decode_path;
using weir::http::parse_query;
using Values = std::map<std::string, std::string>;

TEST_CASE("a query is taken apart and decoded") {
  CHECK(parse_query("q=disk%20full&level=error&x") ==
        Values{{"q", "disk full"}, {"level", "error"}, {"x", ""}});
  CHECK(parse_query("q=a+b%2Bc") == Values{{"q", "a b+c"}});
}

TEST_CASE("a malformed query yields its readable parts only") {
  CHECK(parse_query("").empty());
  CHECK(parse_query("&&=&=1&").empty());
  CHECK(parse_query("a=%") == Values{{"a", "%"}});
  CHECK(parse_query("a=%4&b=%zz") == Values{{"a", "%4"}, {"b", "%zz"}});
  CHECK(parse_query("a=1&a=2") == Values{{"a", "2"}});
}

TEST_CASE("a path is decoded up to its query, and a plus in it is a plus") {
  CHECK(decode_path("/a%20b+c?x=1") == "/a b+c");
  CHECK(decode_path("") == "");
}
