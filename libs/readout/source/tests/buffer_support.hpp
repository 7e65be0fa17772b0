#pragma once

#include <weir/source/fragment_buffer.hpp>

#include <memory>
#include <utility>
#include <vector>

// A source of fragments that contain their slice's id, and a sink that records its calls.
namespace weir::source::test {

class CountingSource final : public FragmentSource {
 public:
  explicit CountingSource(std::uint32_t id, std::size_t size = 16) : id_(id), bytes_(size) {}
  [[nodiscard]] SourceId id() const override { return id_; }
  void begin_run(RunNumber run) override { run_ = run; }
  [[nodiscard]] SourceFragment produce(const Trigger& trigger) override {
    ++asked;
    SourceFragment fragment;
    if (trigger.slice.value % 10 == absent_digit) {
      fragment.status = FragmentStatus::missing;
      fragment.reason = MissingReason::not_produced;
      return fragment;
    }
    fragment.bytes = bytes_;
    fragment.crc32c = static_cast<std::uint32_t>(trigger.slice.value);
    if (owned) fragment.owner = owner;
    return fragment;
  }

  std::uint64_t asked = 0;
  std::uint64_t absent_digit = 10;  // slices that end in this digit have no fragment; 10: none
  bool owned = false;
  std::shared_ptr<int> owner = std::make_shared<int>(0);

 private:
  SourceId id_;
  RunNumber run_;
  std::vector<std::byte> bytes_;
};

// A source of fragments that arrive through deliver().
class ArrivingSource final : public FragmentSource {
 public:
  explicit ArrivingSource(std::uint32_t id) : id_(id) {}
  [[nodiscard]] SourceId id() const override { return id_; }
  void begin_run(RunNumber) override {}
  [[nodiscard]] SourceFragment produce(const Trigger&) override { return {}; }
  [[nodiscard]] Timing timing() const override { return Timing::later; }

 private:
  SourceId id_;
};

// Makes a fragment with memory of its own that contains its slice's id.
inline SourceFragment arriving(std::uint64_t slice, std::size_t size = 16) {
  SourceFragment fragment;
  const auto bytes = std::make_shared<std::vector<std::byte>>(size);
  fragment.bytes = *bytes;
  fragment.owner = bytes;
  fragment.crc32c = static_cast<std::uint32_t>(slice);
  return fragment;
}

struct Answer {
  RequestedFragment request;
  FragmentStatus status;
  MissingReason reason;
  std::uint32_t crc32c;
};

class AnswerList final : public AnswerSink {
 public:
  void answer(const RequestedFragment& request, const SourceFragment& fragment) override {
    answers.push_back({request, fragment.status, fragment.reason, fragment.crc32c});
  }
  [[nodiscard]] std::vector<Answer> take() { return std::exchange(answers, {}); }
  std::vector<Answer> answers;
};

inline std::vector<Trigger> triggers(std::uint64_t from, std::uint64_t count) {
  std::vector<Trigger> list;
  for (std::uint64_t i = 0; i < count; ++i) list.push_back({SliceId(from + i), 0, 0, TriggerType()});
  return list;
}

inline RequestedFragment ask(std::uint64_t slice, std::uint32_t source, std::uint32_t connection = 1,
                             std::uint16_t attempt = 0) {
  return {connection, SliceId(slice), Attempt(attempt), SourceId(source), 0, UINT32_MAX};
}

inline std::uint64_t dropped(const BufferCounters& counters) {
  std::uint64_t sum = 0;
  for (const std::uint64_t count : counters.dropped) sum += count;
  return sum;
}

inline bool balanced(const BufferCounters& c) {
  return c.produced == c.cleared + dropped(c) + c.held && c.announced == c.made + c.never_made + c.waiting;
}

}  // namespace weir::source::test
