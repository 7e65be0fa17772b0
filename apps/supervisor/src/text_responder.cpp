#include "text_responder.hpp"

#include <fmt/format.h>

#include <utility>

namespace weir::supervisor {

using assignment::AnsweredTriggers;
using slice_rows::TextRequest;

TextResponder::TextResponder(TextSettings settings, AnsweredTriggers& answered, Offer offer, Note note)
    : settings_(std::move(settings)), answered_(answered), offer_(std::move(offer)), note_(std::move(note)) {
  if (!settings_.keys) return;
  challenge_ = security::trigger_challenge(
      *settings_.keys,
      fmt::format("weir trigger 1 {} {} {}", settings_.farm, settings_.run.value, settings_.claim));
}

std::string TextResponder::respond(std::string_view line, bool datagram) {
  const auto request = slice_rows::parse_trigger_text(line);
  if (!request) return refuse(TextRefusal::line, request.error(), {});
  switch (request->kind) {
    case TextRequest::Kind::nothing:
      return {};
    case TextRequest::Kind::hello:
      return fmt::format("weir-trigger 1 farm={} run={}{}{}\n", settings_.farm, settings_.run.value,
                         challenge_.empty() ? "" : " challenge=", challenge_);
    case TextRequest::Kind::trigger:
      break;
  }
  return respond(*request, datagram);
}

std::string TextResponder::respond(const TextRequest& request, bool datagram) {
  const slice_rows::TriggerNumber& number = request.number;
  if (settings_.keys &&
      !security::proves_trigger(*settings_.keys, challenge_, request.signed_part, request.mac))
    return refuse(TextRefusal::mac, "mac", number);
  if (number.number == 0 && (datagram || settings_.keys)) {
    return refuse(TextRefusal::number,
                  fmt::format("number: {} requires client=, session= and n=", datagram ? "UDP" : "a key"),
                  number);
  }
  slice_rows::OfferResult answer;
  switch (number.number == 0 ? AnsweredTriggers::Found::fresh : answered_.find(number, answer)) {
    case AnsweredTriggers::Found::answered:
      ++counters_.repeated;
      return slice_rows::to_text(answer, number);
    case AnsweredTriggers::Found::old:
      return refuse(TextRefusal::old,
                    "old: an earlier session, or a number too far below the highest one of this session",
                    number);
    case AnsweredTriggers::Found::full:
      return refuse(TextRefusal::clients,
                    fmt::format("clients: this run has seen {} already: use fewer names",
                                AnsweredTriggers::kClientsMax),
                    number);
    case AnsweredTriggers::Found::fresh:
      break;
  }
  assignment::TriggerOffer trigger;
  trigger.slice = request.slice;
  trigger.info.time = request.time;
  trigger.info.type = request.type;
  trigger.payload = request.payload;
  answer = offer_(trigger);
  if (number.number != 0) {
    answered_.add(number, answer);
    note_({std::string(number.client), number.session, number.number, answer});
  }
  return slice_rows::to_text(answer, number);
}

std::string TextResponder::refuse(TextRefusal why, const std::string& text,
                                  const slice_rows::TriggerNumber& number) {
  ++counters_.refused[static_cast<std::size_t>(why)];
  return slice_rows::error_text(text, number);
}

}  // namespace weir::supervisor
