// From a Generation to what the engine's thread works with: the prompt rendered and tokenised, ranges
// that need the model checked, defaults filled in. Pure but for the seed of those who gave none; any
// number of threads may call it.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "api/error.h"
#include "api/event.h"
#include "api/generation.h"
#include "engine/loaded_model.h"
#include "engine/native_executor.h"
#include "engine/text_stream.h"

namespace paternoster::engine {

struct PreparedCall {
  api::CallId call;
  std::string request_id;
  std::shared_ptr<RequestNumbers> numbers;
  std::int32_t choices = 1;
  std::int32_t max_tokens = 0;
  TextStreamOptions text;
  std::vector<TokenId> stop_token_ids;
  std::optional<std::string> echo;  // the prompt's text
  std::uint64_t cache_namespace = 0;
  api::Standing standing;
  std::int64_t arrived_ns = 0;
  // Of a slice of a longer answer (slice_loop.h): it ends after so many more tokens at the latest, with
  // what is held back of the text not told. 0: the call is whole.
  std::int32_t slice_tokens = 0;
  std::int32_t choice = 0;  // which of the client's choices this is

  std::int64_t deadline_ns() const {  // 0: none
    return standing.timeout_ms ? arrived_ns + *standing.timeout_ms * 1'000'000 : 0;
  }
  std::int32_t said() const { return static_cast<std::int32_t>(numbers->said.size()); }
  // New tokens that may be drawn now.
  std::int32_t most_tokens() const {
    const std::int32_t rest = max_tokens - said();
    return slice_tokens == 0 ? rest : std::min(rest, slice_tokens);
  }
};

class Preparer {
 public:
  // max_len: prompt and output together. share_prefixes: between the owners of different keys too.
  Preparer(const LoadedModel& model, std::int32_t max_len, bool share_prefixes)
      : model_(model), max_len_(max_len), share_prefixes_(share_prefixes) {}

  api::ApiResult<PreparedCall> prepare(api::Generation&& generation) const;

  // The ids of a prompt, as generation would read it.
  api::ApiResult<std::vector<TokenId>> tokenize(const api::Prompt& prompt, bool add_special) const;
  // The text that a conversation becomes.
  api::ApiResult<text::RenderedPrompt> render(const api::ChatPrompt& prompt) const;

 private:
  std::optional<api::ApiError> find_fault(const api::Generation& generation) const;
  std::uint64_t namespace_of(const api::Generation& generation) const;
  void fill_sampling(const api::Generation& generation, SamplingParams& params) const;

  const LoadedModel& model_;
  std::int32_t max_len_;
  bool share_prefixes_;
};

}  // namespace paternoster::engine
