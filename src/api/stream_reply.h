// A reply as server-sent events: `data: ` + JSON + LF LF, exactly as clients have been seen to need it
// (docs/api.md). Knows nothing of sockets: events of the backend in, bytes out.
//
// The caller gives the events of each prompt in their order, with the prompt's index in the Ask, and
// calls `end` once after the last.
#pragma once

#include <string>
#include <vector>

#include "api/reply_parts.h"

namespace paternoster::api {

class StreamReply {
 public:
  StreamReply(const Ask& ask, ReplyHeading heading);

  void take(std::size_t prompt, const Accepted& accepted);
  void take(std::size_t prompt, const Delta& delta, std::string& out);
  void take(std::size_t prompt, const Finished& finished, std::string& out);
  void take(const Done& done);

  // The usage chunk, if wished for, and [DONE].
  void end(std::string& out);
  // Instead: the error and [DONE].
  static void fail(const ApiError& error, std::string& out);

  const Usage& usage() const { return usage_; }

 private:
  struct Choice {
    bool begun = false;       // its first chunk is out
    std::int64_t offset = 0;  // characters, for text_offset
  };

  Choice& choice(std::size_t prompt, std::int32_t index);
  std::size_t index_of(std::size_t prompt, std::int32_t index) const;
  void begin_chunk(std::string& out) const;
  void end_chunk(std::string& out) const;
  void begin_choice(std::size_t prompt, std::int32_t index, std::string& out);
  void append_delta(std::size_t prompt, const Delta& delta, std::string& out);

  Route route_;
  bool include_usage_;
  bool continuous_usage_;
  bool return_token_ids_;
  bool logprobs_;
  bool prompt_only_;
  std::int32_t choices_a_prompt_;
  std::string opening_;  // what every chunk begins with
  std::vector<Choice> choices_;
  std::vector<std::vector<TokenId>> prompt_tokens_;  // with return_token_ids
  Usage usage_;          // so far
  Usage final_usage_;    // as the backend counts
  Timings timings_;
};

}  // namespace paternoster::api
