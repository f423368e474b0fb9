#include "mock/script.h"

#include <algorithm>

#include "api/stream_reply.h"
#include "api/whole_reply.h"
#include "mock/words.h"

namespace paternoster::mock {
namespace {

// The tokens of an answer and why it ends.
struct Answer {
  std::vector<TokenId> prompt;
  std::vector<TokenId> tokens;
  api::FinishReason reason = api::FinishReason::kLength;
};

std::int32_t most_tokens(const MockOptions& options, const api::Ask& ask, std::size_t prompt) {
  const std::int32_t room = options.max_len - static_cast<std::int32_t>(prompt);
  return std::min(ask.generations.front().max_tokens.value_or(kDefaultTokens), room);
}

Answer answer_of(const MockOptions& options, const api::Ask& ask) {
  const api::Generation& generation = ask.generations.front();
  Answer answer{tokens_of(generation.prompt), {}};
  const std::int32_t most = most_tokens(options, ask, answer.prompt.size());
  TokenId token = answer.prompt.empty() ? 0 : answer.prompt.back();
  for (std::int32_t count = 1; count <= most; ++count) {
    token = next_token(token);
    answer.tokens.push_back(token);
    const bool stops = std::ranges::find(generation.stop_token_ids, token) != generation.stop_token_ids.end();
    if (stops && count >= generation.min_tokens) {
      answer.reason = api::FinishReason::kStop;
      break;
    }
  }
  return answer;
}

std::int64_t first_chunk_ns(const MockOptions& options, std::size_t prompt_tokens) {
  return options.ttft_ns + static_cast<std::int64_t>(prompt_tokens) * options.prompt_token_ns;
}

// When the chunk leaves, held back to the last of its group.
std::int64_t departure_ns(const MockOptions& options, std::int64_t first_ns, std::int64_t chunk,
                          std::int64_t chunks) {
  const std::int64_t group = std::max(options.hold_chunks, 1);
  const std::int64_t leaves = std::min(chunk / group * group + group, chunks) - 1;
  return first_ns + leaves * options.tokens_per_chunk * options.itl_ns;
}

// The reply's text, event by event, in the dialect that the options ask for.
std::string dressed(const MockOptions& options, std::string events) {
  std::string out;
  for (std::size_t begin = 0; begin < events.size();) {
    const std::size_t end = events.find("\n\n", begin) + 2;
    if (options.comments) out += options.crlf ? ": mock\r\n\r\n" : ": mock\n\n";
    out += events.substr(begin, end - begin - 2);
    out += options.crlf ? "\r\n\r\n" : "\n\n";
    begin = end;
  }
  return out;
}

class Writer {
 public:
  Writer(const MockOptions& options, const api::Ask& ask, const Turn& turn)
      : options_(options), turn_(turn), ask_(told(ask)), answer_(answer_of(options, ask)),
        heading_{ask.route, (ask.route == api::Route::kChat ? "chatcmpl-mock-" : "cmpl-mock-") +
                                std::to_string(turn.number), turn.created_s, options.model} {
    script_.prompt_tokens = static_cast<std::int32_t>(answer_.prompt.size());
    first_ns_ = first_chunk_ns(options_, answer_.prompt.size());
    const auto tokens = static_cast<std::int64_t>(answer_.tokens.size());
    chunks_ = (tokens + options_.tokens_per_chunk - 1) / options_.tokens_per_chunk;
  }

  Script write() {
    if (ask_.stream) {
      write_stream();
    } else {
      write_whole();
    }
    return std::move(script_);
  }

 private:
  api::Ask told(api::Ask ask) const {
    if (!options_.usage) ask.include_usage = false;
    return ask;
  }

  api::Delta chunk(std::int64_t index) const {
    api::Delta delta;
    const std::int64_t begin = index * options_.tokens_per_chunk;
    const std::int64_t end = std::min<std::int64_t>(begin + options_.tokens_per_chunk, std::ssize(answer_.tokens));
    for (std::int64_t at = begin; at < end; ++at) {
      const TokenId token = answer_.tokens[static_cast<std::size_t>(at)];
      delta.token_ids.push_back(token);
      delta.text += text_of(token);
    }
    return delta;
  }

  api::Done done() const {
    api::Done done;
    done.usage.prompt_tokens = script_.prompt_tokens;
    done.usage.completion_tokens = static_cast<std::int32_t>(answer_.tokens.size()) + options_.usage_excess;
    if (!options_.timings) return done;
    const std::int64_t first = departure_ns(options_, first_ns_, 0, chunks_);
    done.timings = {turn_.queue_ns, first, departure_ns(options_, first_ns_, chunks_ - 1, chunks_) - first};
    return done;
  }

  void depart(std::int64_t chunk_index, std::size_t tokens, std::string bytes) {
    script_.departures.push_back({departure_ns(options_, first_ns_, chunk_index, chunks_),
                                  static_cast<std::int32_t>(tokens), dressed(options_, std::move(bytes))});
  }

  void write_stream() {
    api::StreamReply reply(ask_, heading_);
    reply.take(0, api::Accepted{{}, script_.prompt_tokens, answer_.prompt});
    const Fault* fault = fault_of(options_, turn_.number);
    std::int32_t left = 0;
    for (std::int64_t index = 0; index < chunks_; ++index) {
      std::string out;
      const api::Delta delta = chunk(index);
      reply.take(0, delta, out);
      left += static_cast<std::int32_t>(delta.token_ids.size());
      const bool now = fault != nullptr && left >= fault->after_tokens;
      if (now && fault->kind == FaultKind::kGarble) out += "data: {\"choices\":[{\"index\":\n\n";
      depart(index, delta.token_ids.size(), std::move(out));
      if (now && ends_here(*fault, index)) return;
      if (now) fault = nullptr;
    }
    std::string out;
    reply.take(0, api::Finished{{}, 0, answer_.reason, {}}, out);
    reply.take(done());
    reply.end(out);
    depart(chunks_ - 1, 0, std::move(out));
  }

  // True: nothing of the answer comes any more.
  bool ends_here(const Fault& fault, std::int64_t index) {
    if (fault.kind == FaultKind::kGarble || fault.kind == FaultKind::kRefuse) return false;
    if (fault.kind == FaultKind::kError) {
      std::string out;
      api::StreamReply::fail(api::server_error("the mock fails, as it was told to"), out);
      depart(index, 0, std::move(out));
    }
    if (fault.kind == FaultKind::kDisconnect) script_.ending = Ending::kCut;
    if (fault.kind == FaultKind::kStall) script_.ending = Ending::kSilent;
    return true;
  }

  void write_whole() {
    api::WholeReply reply(ask_, heading_);
    reply.take(0, api::Accepted{{}, script_.prompt_tokens, answer_.prompt});
    for (std::int64_t index = 0; index < chunks_; ++index) reply.take(0, chunk(index));
    reply.take(0, api::Finished{{}, 0, answer_.reason, {}});
    reply.take(done());
    script_.departures.push_back({departure_ns(options_, first_ns_, chunks_ - 1, chunks_),
                                  static_cast<std::int32_t>(answer_.tokens.size()), reply.write()});
    const Fault* fault = fault_of(options_, turn_.number);
    if (fault == nullptr || fault->kind == FaultKind::kRefuse) return;
    Departure& body = script_.departures.back();
    if (fault->kind == FaultKind::kError) body.bytes = api::error_body(api::server_error("told to"));
    if (fault->kind == FaultKind::kGarble || fault->kind == FaultKind::kTruncate) {
      body.bytes.resize(body.bytes.size() / 2);
    }
    if (fault->kind == FaultKind::kDisconnect) body.bytes.clear();
    if (fault->kind == FaultKind::kDisconnect) script_.ending = Ending::kCut;
    if (fault->kind == FaultKind::kStall) script_.ending = Ending::kSilent;
  }

  const MockOptions& options_;
  Turn turn_;
  api::Ask ask_;
  Answer answer_;
  api::ReplyHeading heading_;
  Script script_;
  std::int64_t first_ns_ = 0;
  std::int64_t chunks_ = 0;
};

}  // namespace

const Fault* fault_of(const MockOptions& options, std::int64_t number) {
  for (const Fault& fault : options.faults) {
    if (number % fault.every == 0) return &fault;
  }
  return nullptr;
}

std::optional<api::ApiError> objection(const MockOptions& options, const api::Ask& ask) {
  const api::Generation& generation = ask.generations.front();
  if (ask.generations.size() > 1 || ask.choices > 1) {
    return api::unsupported_parameter("n", "The mock gives one answer to one prompt.");
  }
  if (ask.logprobs || generation.echo || ask.prompt_only || !generation.stop.empty()) {
    return api::unsupported_parameter(generation.stop.empty() ? "logprobs" : "stop",
                                      "The mock knows no logprobs, echo and stop strings.");
  }
  const std::size_t prompt = tokens_of(generation.prompt).size();
  const std::int64_t wanted = generation.max_tokens.value_or(1);
  if (static_cast<std::int64_t>(prompt) + wanted > options.max_len) {
    return api::context_length_exceeded(static_cast<std::int64_t>(prompt), generation.max_tokens.value_or(0),
                                        options.max_len);
  }
  return std::nullopt;
}

Script write_script(const MockOptions& options, const api::Ask& ask, const Turn& turn) {
  return Writer(options, ask, turn).write();
}

}  // namespace paternoster::mock
