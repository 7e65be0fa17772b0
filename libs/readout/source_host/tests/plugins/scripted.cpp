// A source that chooses its action for an announced slice by the slice's number, so that a test can script
// the calls to the host.
#include <weir/source.hpp>

#include <array>
#include <stdexcept>
#include <thread>

namespace {

class Scripted : public weir::AsyncSource {
 public:
  explicit Scripted(weir::SourceSetup& setup)
      : AsyncSource(setup),
        refuse_run_(setup.parameter("refuse_run", false)),
        answers_{counter("answer_0"), counter("answer_1"), counter("answer_2"), counter("answer_3"),
                 counter("answer_4"), counter("answer_5"), counter("answer_6"), counter("answer_7")},
        polls_(counter("polls")) {
    if (setup.parameter("refuse", false)) throw std::runtime_error("no crate found");
  }

  void begin_run(const weir_source_run& run) override {
    if (refuse_run_) throw std::runtime_error("no run " + std::to_string(run.run));
  }
  void poll(std::int64_t /*now_ns*/) override { polls_.add(); }

  void announced(const weir_source_trigger& trigger) override {
    const std::uint32_t first = source_ids().front();
    const auto answer = [&](std::int32_t code) { answers_.at(static_cast<std::size_t>(code)).add(); };
    switch (trigger.slice) {
      case 1:  // a good fragment
        for (const std::uint32_t id : source_ids()) {
          answer(deliver(id, 1, weir::SourceBytes(std::vector<std::byte>(id, std::byte{1}))));
        }
        return;
      case 2:
        return answer(deliver(999, 2, weir::SourceBytes(std::vector<std::byte>(1))));
      case 3:
        return answer(deliver(first, 3, weir::SourceBytes(std::vector<std::byte>(1)), 77));
      case 4:
        return watermark(first, 4, WEIR_SOURCE_GAP);
      case 5:
        return answer(missing(first, 5, WEIR_SOURCE_GAP));
      case 6:  // from a separate thread
        return std::thread([&] {
                 answer(deliver(first, 6, weir::SourceBytes(std::vector<std::byte>(1))));
                 wake();
               })
            .join();
      case 7:
        throw std::runtime_error("seven");
      case 8:
        for (int line = 0; line < 10; ++line) log(WEIR_SOURCE_LOG_INFO, "again");
        return;
      case 20:
        losses(first, 100, 0, "");
        losses(first, 0, 7, "stale");
        losses(WEIR_SOURCE_ALL, 5, 5, "no\x01name");
        losses(999, 1, 1, "stale");
        host()->losses(host(), first, 1, 1, nullptr);
        fault("crate 3 restarted");
        return std::thread([&] { fault("from a thread"); }).join();
      case 30: {
        weir::SourceBytes bytes(std::vector<std::byte>(1));
        bytes.stamp = {255, -7, 1000};
        return answer(deliver(first, 30, std::move(bytes)));
      }
      case 31: {  // as a plugin of the first release, which has other memory behind its fields
        weir_source_fragment fragment{};
        fragment.struct_size = offsetof(weir_source_fragment, counter);
        fragment.source = first;
        fragment.slice = trigger.slice;
        fragment.flags = WEIR_SOURCE_HAS_COUNTER | WEIR_SOURCE_HAS_TIME;
        fragment.counter = 1;
        return answer(host()->deliver(host(), &fragment));
      }
      default: {  // a length without data
        weir_source_fragment fragment{};
        fragment.struct_size = sizeof fragment;
        fragment.source = first;
        fragment.slice = trigger.slice;
        fragment.length = 5;
        answer(host()->deliver(host(), &fragment));
      }
    }
  }

 private:
  bool refuse_run_;
  std::array<weir::SourceCounter, 8> answers_;
  weir::SourceCounter polls_;
};

}  // namespace

WEIR_SOURCE_PLUGIN(Scripted, "scripted", "2.5", "acts according to the slice's number")
