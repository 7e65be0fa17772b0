// Does what its parameter `do` says.
#include <weir/filter.hpp>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

namespace {

struct Noted {
  explicit Noted(weir::Counter gone_) : gone(gone_) {}
  ~Noted() { gone.add(); }
  weir::Counter gone;
};

class Scripted : public weir::Filter {
 public:
  explicit Scripted(weir::FilterSetup& setup)
      : Filter(setup),
        what_(setup.parameter("do", "accept")),
        number_(setup.parameter("number", std::uint32_t{0}, std::uint32_t{0}, std::uint32_t{10000})),
        processed_(counter("processed")),
        delegated_(counter("delegated")),
        ids_(histogram("ids")) {
    if (what_ == "throw_in_create") throw std::runtime_error("cannot open the oracle");
    if (what_ == "unknown_stream") (void)stream("gold");
    if (what_ == "check_forward") (void)forward("second");
    if (what_ == "check_unknown") (void)forward("third");
    if (what_.starts_with("book")) book();
    if (what_ == "many_counters") {
      for (int i = 0; i < 300; ++i) counter(("c" + std::to_string(i)).c_str()).add();
    }
  }

  void begin_run(const weir_filter_run& run) override {
    if (what_ == "throw_in_begin_run") throw std::runtime_error("no calibration");
    sources_.assign(run.sources, run.sources + run.source_count);
  }
  void end_run() override {
    if (what_ == "throw_in_end_run") throw std::runtime_error("cannot say goodbye");
  }
  [[nodiscard]] std::optional<std::vector<std::uint32_t>> first_sources() const override {
    if (what_ == "need_more") return std::vector<std::uint32_t>{sources_.at(0)};
    return std::nullopt;
  }

  weir::Decision process(const weir::Slice& slice) override {
    processed_.add();
    ids_.record(static_cast<double>(slice.id()));
    if (what_.starts_with("book")) fill(slice);
    if (what_ == "book_throw_odd" && slice.id() % 2 == 1) throw std::runtime_error("an odd slice");
    if (what_ == "book_reject_odd" && slice.id() % 2 == 1) return reject();
    if (what_ == "book_late") (void)book_histogram("late", 1, 0, 1);
    if (what_ == "throw") throw std::runtime_error("hit 7 has no time");
    if (what_ == "throw_int") throw 7;
    if (what_ == "undecided") return {};
    if (what_ == "reject") return reject();
    if (what_ == "alternate") return (accepts_ = !accepts_) ? accept() : reject();
    if (what_ == "need_all") return need_all();
    if (what_ == "forward") return forward_on(slice);
    if (what_ == "forward_unknown") return forward("third");
    if (what_ == "forward_long") return forward("second", std::vector<std::byte>(4097));
    if (what_ == "forward_nowhere") {
      weir::Decision decision = reject();
      decision.verdict = WEIR_FILTER_FORWARD;
      return decision;
    }
    if (what_ == "need_none") return need({});
    if (what_ == "need_known") return need({10});
    if (what_ == "need_more") return need_more(slice);
    if (what_ == "log") log(WEIR_LOG_INFO, "slice " + std::to_string(slice.id()));
    if (what_ == "log_threads") return log_from_threads();
    if (what_ == "wrong_stream") return accept().to(std::uint64_t{1} << 40U);
    if (what_ == "muons") return accept().to(stream("muons")).keep_raw_data_of({30, 10, 30}).prescaled(5, 2);
    if (what_ == "events") return events(slice);
    if (what_ == "flood") return flood();
    if (what_ == "meet") return meet();
    if (what_ == "delegate") return delegate(slice);
    if (what_ == "random") result_.put(random()).put(random());
    if (what_ == "bytes") result_.put(slice.bytes());
    if (what_ == "sleep") std::this_thread::sleep_for(std::chrono::milliseconds(number_));
    if (!result_.bytes().empty()) set_result(result_.bytes());
    result_.clear();
    return accept();
  }

 private:
  void book() {
    // "book_differ": each instance has a binning of its own.
    static std::atomic<std::uint32_t> instances{0};
    const std::uint32_t bins = what_ == "book_differ" ? 10 + instances.fetch_add(1) : 10;
    modulo_ = book_histogram("modulo", bins, 0, 10);
    if (what_ == "book_twice") (void)book_histogram("modulo", 10, 0, 20);
    if (what_ == "book_much") (void)book_histogram("much", {1000, 0, 1}, {1000, 0, 1});
    map_ = book_histogram("map", weir::Axis{2, 0, 2}, weir::Axis{5, 0, 5});
    mean_ = book_profile("mean", 2, 0, 2);
  }
  void fill(const weir::Slice& slice) const {
    const auto id = static_cast<double>(slice.id());
    modulo_.fill(static_cast<double>(slice.id() % 10));
    map_.fill(static_cast<double>(slice.id() % 2), static_cast<double>(slice.id() % 5), 2);
    mean_.fill(static_cast<double>(slice.id() % 2), id);
  }

  weir::Histogram1D modulo_;
  weir::Histogram2D map_;
  weir::Profile mean_;
  bool accepts_ = false;  // of the last slice, for "alternate"
  // Bytes that arrive with the slice are its result; a slice without any goes on with its id.
  weir::Decision forward_on(const weir::Slice& slice) {
    if (!slice.forwarded().empty()) {
      set_result(slice.forwarded());
      return accept();
    }
    result_.clear();
    return forward("second", result_.put(slice.id()).bytes());
  }
  weir::Decision need_more(const weir::Slice& slice) {
    if (Noted* noted = slice.remembered<Noted>(); noted == nullptr) {
      slice.remember<Noted>(counter("state_gone"));
      return need({30, 20});
    }
    return slice.find(20).requested() ? accept() : reject();
  }
  weir::Decision events(const weir::Slice& slice) {
    for (std::uint32_t i = 0; i < number_; ++i) {
      result_.clear();
      add_event(slice.id() + i, result_.put(i).bytes());
    }
    result_.clear();
    return accept().keep_no_raw_data();
  }
  // Accepts when another instance comes here as well.
  weir::Decision meet() {
    static std::atomic<int> arrived{0};
    const int pair = arrived.fetch_add(1) / 2;
    const auto patience_end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
    while (arrived.load() < 2 * (pair + 1)) {
      if (std::chrono::steady_clock::now() > patience_end) throw std::runtime_error("nobody came");
      std::this_thread::yield();
    }
    return accept();
  }
  // Works in a thread of its own, while the host's waits.
  weir::Decision delegate(const weir::Slice& slice) {
    std::thread([&] {
      delegated_.add();
      ids_.record(static_cast<double>(slice.id()));
      log(WEIR_LOG_INFO, "slice " + std::to_string(slice.id()));
      add_event(slice.id(), result_.put(random()).bytes());
      set_result(result_.bytes());
      result_.clear();
    }).join();
    return accept();
  }
  // Four threads write `number` lines each, and so does this one.
  weir::Decision log_from_threads() {
    const auto write = [this] {
      for (std::uint32_t i = 0; i < number_; ++i) log(WEIR_LOG_INFO, "line");
    };
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) threads.emplace_back(write);
    write();
    for (std::thread& thread : threads) thread.join();
    return accept();
  }
  weir::Decision flood() {
    const std::vector<std::byte> much(1000);
    for (int i = 0; i < 100; ++i) (void)host()->add_event(host(), 0, much.data(), much.size());
    return accept();
  }

  std::string what_;
  std::uint32_t number_;
  weir::Counter processed_;
  weir::Counter delegated_;
  weir::Histogram ids_;
  weir::ByteWriter result_;
  std::vector<std::uint32_t> sources_;
};

}  // namespace

WEIR_FILTER_PLUGIN(Scripted, "scripted", "2.5", "does what it is told")
