#include "api/request_status.h"

#include <array>
#include <string_view>
#include <utility>

#include "base/json_writer.h"

namespace paternoster::api {
namespace {

std::int64_t whole_ms(std::int64_t ns) { return ns / 1'000'000; }

void append_choice(std::string& out, const ChoiceStatus& choice) {
  JsonObject object(out);
  object.field("choice", choice.choice).field("state", choice.state).field("output_tokens", choice.output);
  if (*choice.reason == '\0') {
    object.null("reason");
  } else {
    object.field("reason", choice.reason).field("why", explain(choice.reason));
  }
  object.end();
}

void append_request(std::string& out, const RequestStatus& request) {
  const auto optional_ms = [](JsonObject& object, std::string_view name, const std::optional<std::int64_t>& ns) {
    if (ns) {
      object.field(name, whole_ms(*ns));
    } else {
      object.null(name);
    }
  };
  JsonObject object(out);
  object.field("id", request.request_id)
      .field("tenant", request.standing.tenant)
      .field("class", to_string(class_of(request.standing.priority)))
      .field("priority", request.standing.priority)
      .field("age_ms", whole_ms(request.age_ns))
      .field("prompt_tokens", request.prompt)
      .field("cached_tokens", request.cached)
      .field("max_tokens", request.max_output)
      .field("preemptions", request.preemptions);
  optional_ms(object, "deadline_in_ms", request.deadline_in_ns);
  if (request.ahead) {
    object.field("queue_position", *request.ahead);
  } else {
    object.null("queue_position");
  }
  optional_ms(object, "estimated_start_ms", request.starts_in_ns);
  if (request.engine) {
    object.field("engine", *request.engine);
  } else {
    object.null("engine");
  }
  object.key("choices") += '[';
  for (const ChoiceStatus& choice : request.choices) {
    if (&choice != request.choices.data()) out += ',';
    append_choice(out, choice);
  }
  out += ']';
  object.end();
}

constexpr std::array<std::pair<std::string_view, const char*>, 19> kExplanations = {{
    {"no_blocks", "the KV cache has no room for it until somebody ends"},
    {"token_budget", "the tokens that a step computes are spent on others"},
    {"seat_limit", "all seats are taken (--max-seqs)"},
    {"batch_closed", "the batch on its way takes nobody up"},
    {"behind_earlier", "somebody who comes first cannot board yet"},
    {"sibling_prefill", "another choice of it computes the prompt that they share"},
    {"class", "somebody of a more urgent class comes first"},
    {"shorter_first", "somebody with less left to do comes first"},
    {"earlier_deadline", "somebody with an earlier deadline comes first"},
    {"tenant_share", "its tenant has had more than the others; they come first"},
    {"window_open", "its batch still gathers arrivals (--window)"},
    {"latency_target", "more prompt in this step would make somebody's gap too long (--itl-target)"},
    {"prompt_unread", "its prompt is being turned into tokens, or waits for that"},
    {"interval", "slices are given out together, and the next time has not come (--fleet-interval)"},
    {"all_busy", "every engine has its batch"},
    {"no_instance", "no engine takes work"},
    {"no_memory", "the KV caches of all engines hold what others still need"},
    {"engine_busy", "its engine still runs the batch before it"},
    {"preempted", "it gave up its seat and goes on as soon as there is room"},
}};

}  // namespace

const char* explain(const char* reason) {
  for (const auto& [word, sentence] : kExplanations) {
    if (word == reason) return sentence;
  }
  return reason;
}

std::string requests_body(std::span<const RequestStatus> requests, const std::string& owner) {
  std::string out;
  JsonObject object(out);
  object.key("requests") += '[';
  bool first = true;
  for (const RequestStatus& request : requests) {
    if (request.standing.owner != owner) continue;
    if (!std::exchange(first, false)) out += ',';
    append_request(out, request);
  }
  out += ']';
  object.end();
  return out;
}

}  // namespace paternoster::api
