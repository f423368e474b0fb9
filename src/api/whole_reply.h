// A reply in one JSON body: collects the backend's events and writes them out at the end.
#pragma once

#include <string>
#include <vector>

#include "api/reply_parts.h"

namespace paternoster::api {

class WholeReply {
 public:
  WholeReply(const Ask& ask, ReplyHeading heading);

  void take(std::size_t prompt, const Accepted& accepted);
  void take(std::size_t prompt, Delta&& delta);
  void take(std::size_t prompt, const Finished& finished);
  void take(const Done& done);

  // The body. Every choice has finished.
  std::string write() const;

  const Usage& usage() const { return usage_; }

 private:
  struct Choice {
    std::string text;
    std::vector<TokenId> token_ids;
    std::vector<TokenLogprobs> logprobs;
    FinishReason reason = FinishReason::kStop;
    StopReason stop_reason;
  };

  Choice& choice(std::size_t prompt, std::int32_t index);
  void append_choice(std::size_t index, std::string& out) const;

  ReplyHeading heading_;
  bool return_token_ids_;
  bool logprobs_;
  bool prompt_only_;
  std::int32_t choices_a_prompt_;
  std::vector<Choice> choices_;
  std::vector<std::vector<TokenId>> prompt_tokens_;
  Usage usage_;
  Timings timings_;
};

}  // namespace paternoster::api
