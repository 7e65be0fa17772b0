#include "findings.hpp"
#include <weir/base/figures.hpp>
#include <weir/control/alarm_channel.hpp>

namespace weir::control {
namespace {

using MessageKind = AlarmMessage::Kind;

std::string scene_text(const AlarmScene& scene) {
  return "farm " + scene.farm + ": " + scene.state +
         (scene.run == 0 ? "" : ", run " + std::to_string(scene.run));
}

std::string line_text(const AlarmMessage::Line& line) {
  const bool over = line.until_utc != 0;
  std::string text = over ? "over" : std::string(name(line.gravity));
  text += ": " + line.name + (line.reason.empty() ? "" : ": " + line.reason) + "\n  since " +
          utc_text(line.since_utc) + (over ? ", until " + utc_text(line.until_utc) : "");
  if (line.times > 1) text += ", raised " + std::to_string(line.times) + " times";
  if (!line.acked_by.empty()) text += ", acknowledged by " + line.acked_by;
  return text + "\n";
}

}  // namespace

std::string_view name(AlarmMessage::Kind kind) {
  constexpr std::string_view kNames[] = {"alarm", "reminder", "all clear", "test", "alive"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::string subject_of(const AlarmMessage& message, const AlarmScene& scene) {
  const std::string head = "[" + scene.farm + "] ";
  switch (message.kind) {
    case MessageKind::all_clear:
      return head + "all clear";
    case MessageKind::test:
      return head + "test of the alarms by " + message.by;
    case MessageKind::alive:
      return head + "run control is alive";
    case MessageKind::alarm:
    case MessageKind::reminder:
      break;
  }
  const AlarmMessage::Line& worst = message.lines.front();
  const std::size_t more = message.lines.size() + message.left_out + message.others - 1;
  return head + (message.kind == MessageKind::reminder ? "still " : "") + std::string(name(worst.gravity)) +
         ": " + worst.name + (worst.reason.empty() ? "" : ": " + worst.reason) +
         (more == 0 ? "" : " (+" + std::to_string(more) + " more)");
}

std::string body_of(const AlarmMessage& message, const AlarmScene& scene) {
  std::string text = scene_text(scene) + "\n";
  for (const AlarmMessage::Line& line : message.lines) text += line_text(line);
  if (message.left_out > 0) text += counted(message.left_out, "further alarm") + " not listed\n";
  if (message.others > 0)
    text += counted(message.others, "other alarm") +
            (message.others == 1 ? " is still active\n" : " are still active\n");
  if (message.lost > 0)
    text += counted(message.lost, "short alarm") + " before this message not listed: too many\n";
  return text;
}

}  // namespace weir::control
