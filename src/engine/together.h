// Several engines seen as one: their cards, health and live frames put together.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "api/backend.h"

namespace paternoster::engine {

// Seats, queue places and KV cache of all; what the first says of the model.
template <typename Engine>
api::ModelCard summed_card(const std::vector<std::unique_ptr<Engine>>& engines) {
  api::ModelCard card = engines.front()->model();
  card.engines = static_cast<std::int32_t>(engines.size());
  for (std::size_t engine = 1; engine < engines.size(); ++engine) {
    const api::ModelCard& one = engines[engine]->model();
    card.max_seqs += one.max_seqs;
    card.kv_tokens += one.kv_tokens;
    card.max_len = std::min(card.max_len, one.max_len);
  }
  return card;
}

// `sum` and one more: the worst readiness, and how old the worst one's step is.
void add_health(api::Health& sum, const api::Health& one);

template <typename Engine>
api::Health summed_health(const std::vector<std::unique_ptr<Engine>>& engines) {
  api::Health sum = engines.front()->health();
  for (std::size_t engine = 1; engine < engines.size(); ++engine) add_health(sum, engines[engine]->health());
  return sum;
}

// The newest frame of each engine. One thread at a time.
class FrameBoard {
 public:
  enum class Count : std::uint8_t { kOfEachEngine, kTogether };  // how sequences were numbered

  FrameBoard(std::size_t engines, Count count) : frames_(engines), count_(count) {}

  // All of them together, unless the last were shown just now: the engine will show another soon. The
  // last one before an engine is quiet is never held back.
  std::optional<api::LiveFrame> take(std::size_t engine, api::LiveFrame&& frame, std::int64_t now_ns);
  // The same without news of an engine's: nothing if they were shown just now.
  std::optional<api::LiveFrame> again(std::int64_t now_ns);

 private:
  api::LiveFrame put_together() const;

  std::vector<api::LiveFrame> frames_;
  Count count_;
  std::int64_t shown_ns_ = 0;
};

}  // namespace paternoster::engine
