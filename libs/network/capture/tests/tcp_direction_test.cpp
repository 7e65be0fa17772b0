#include "weir_catch.hpp"
#include <weir/capture/tcp_direction.hpp>

#include <string>
#include <string_view>

using namespace weir;
using namespace weir::capture;

namespace {

struct Text final : TcpSink {
  void on_bytes(ConstBytes bytes) override {
    for (const std::byte byte : bytes) text += static_cast<char>(byte);
  }
  void on_gap(std::uint32_t bytes) override { text += "[" + std::to_string(bytes) + "]"; }
  std::string text;
};

ConstBytes bytes_of(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

}  // namespace

TEST_CASE("segments in any order give the bytes in order, each once") {
  TcpDirection direction;
  Text out;
  direction.begin(100);
  direction.take(103, bytes_of("def"), out);
  direction.take(106, bytes_of("ghi"), out);
  CHECK(out.text.empty());
  direction.take(100, bytes_of("abc"), out);
  CHECK(out.text == "abcdefghi");
  direction.take(102, bytes_of("cdefghij"), out);  // repeated, with one byte more
  direction.take(100, bytes_of("abc"), out);
  CHECK(out.text == "abcdefghij");
}

TEST_CASE("numbers wrap at 2^32") {
  TcpDirection direction;
  Text out;
  direction.begin(0xfffffffeU);
  direction.take(1, bytes_of("d"), out);
  direction.take(0xfffffffeU, bytes_of("abc"), out);
  CHECK(out.text == "abcd");
}

TEST_CASE("a direction that was open before the capture begins with its first segment") {
  TcpDirection direction;
  Text out;
  direction.take(5000, bytes_of("ab"), out);
  direction.take(4990, bytes_of("old"), out);
  direction.take(5002, bytes_of("c"), out);
  CHECK(out.text == "abc");
}

TEST_CASE("a gap is reported at the end of the capture, or when too much waits behind it") {
  TcpDirection direction;
  Text out;
  direction.begin(0);
  direction.take(0, bytes_of("a"), out);
  direction.take(4, bytes_of("e"), out);
  CHECK(out.text == "a");
  SECTION("at the end") {
    direction.end(out);
    CHECK(out.text == "a[3]e");
  }
  SECTION("or behind too much") {
    const std::string much(TcpDirection::kWaitingMax, 'x');
    direction.take(5, bytes_of(much), out);
    CHECK(out.text == "a[3]e" + much);
  }
}
