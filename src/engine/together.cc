#include "engine/together.h"

#include <algorithm>
#include <utility>

namespace paternoster::engine {
namespace {

constexpr std::int64_t kFrameIntervalNs = 45'000'000;  // a little less than an engine's own

}  // namespace

void add_health(api::Health& sum, const api::Health& one) {
  const bool worse = one.readiness != api::Readiness::kReady && one.readiness > sum.readiness;
  const bool bad = sum.readiness != api::Readiness::kReady && !worse;
  // Of the worst engine; of equals the one that has moved last.
  const bool younger = one.last_step_age_ns >= 0 &&
                       (sum.last_step_age_ns < 0 || one.last_step_age_ns < sum.last_step_age_ns);
  if (worse || (!bad && younger)) sum.last_step_age_ns = one.last_step_age_ns;
  if (worse) sum.readiness = one.readiness;
  sum.running += one.running;
  sum.waiting += one.waiting;
}

std::optional<api::LiveFrame> FrameBoard::take(std::size_t engine, api::LiveFrame&& frame, std::int64_t now_ns) {
  const bool quiet = frame.running == 0 && frame.waiting == 0;
  frames_[engine] = std::move(frame);
  if (quiet) shown_ns_ = 0;
  return again(now_ns);
}

std::optional<api::LiveFrame> FrameBoard::again(std::int64_t now_ns) {
  if (shown_ns_ != 0 && now_ns - shown_ns_ < kFrameIntervalNs) return std::nullopt;
  shown_ns_ = now_ns;
  return put_together();
}

api::LiveFrame FrameBoard::put_together() const {
  api::LiveFrame sum;
  for (std::size_t engine = 0; engine < frames_.size(); ++engine) {
    const api::LiveFrame& one = frames_[engine];
    sum.step += one.step;
    sum.step_ns = std::max(sum.step_ns, one.step_ns);
    sum.tokens_per_second += one.tokens_per_second;
    sum.running += one.running;
    sum.waiting += one.waiting;
    sum.kv_used += one.kv_used;
    sum.kv_cached += one.kv_cached;
    sum.kv_free += one.kv_free;
    sum.kv_block_tokens = std::max(sum.kv_block_tokens, one.kv_block_tokens);
    sum.engines.push_back({one.step, one.step_ns, one.running, one.waiting, one.kv_used,
                           one.kv_used + one.kv_cached + one.kv_free});
    for (api::LiveSequence sequence : one.sequences) {
      sequence.engine = static_cast<std::int32_t>(engine);
      if (count_ == Count::kOfEachEngine) sequence.id = sequence.id * frames_.size() + engine;
      sum.sequences.push_back(std::move(sequence));
    }
  }
  return sum;
}

}  // namespace paternoster::engine
