#include "bench/stream_watch.h"

#include <algorithm>

namespace paternoster::bench {

using measure::Status;

namespace {

constexpr std::size_t kMostBody = std::size_t{16} << 20;
constexpr std::int64_t kBunchedNs = 1'000'000;

Status status_of(int http_status, std::string_view body) {
  if (http_status == 429 || http_status == 503) return Status::kRefused;
  if (http_status == 400 && body.find("context_length_exceeded") != std::string_view::npos) return Status::kRefused;
  if (http_status == 408) return Status::kTimedOut;
  return Status::kFailed;
}

}  // namespace

StreamWatch::StreamWatch(measure::RequestRecord record, Options options, std::function<void(StreamWatch&)> ended)
    : options_(options), ended_(std::move(ended)) {
  sighting_.record = std::move(record);
}

std::int64_t StreamWatch::since_epoch(Clock::time_point now) const {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(now - options_.epoch).count();
}

void StreamWatch::on_sending(Clock::time_point now) { sighting_.record.sent_ns = since_epoch(now); }

void StreamWatch::on_head(const client::ResponseHead& head, Clock::time_point) {
  http_status_ = head.status;
  event_stream_ = head.event_stream;
}

void StreamWatch::on_body(std::string_view bytes, Clock::time_point now) {
  if (http_status_ == 200 && event_stream_) {
    const std::int64_t now_ns = since_epoch(now);
    events_.push(bytes, [&](std::string_view data) { take_event(data, now_ns); });
    if (events_.overflowed()) fail(Status::kFailed, "an event of the stream is larger than 8 MiB");
  } else if (body_.size() + bytes.size() <= kMostBody) {
    body_ += bytes;
  }
}

void StreamWatch::fail(Status status, std::string error) {
  if (failed_) return;  // the first reason counts
  failed_ = true;
  sighting_.record.status = status;
  sighting_.record.error = std::move(error);
}

void StreamWatch::take_event(std::string_view data, std::int64_t now_ns) {
  if (data == "[DONE]") {
    said_done_ = true;
    return;
  }
  const auto piece = api::read_reply(data);
  if (piece) {
    take_piece(*piece, now_ns);
  } else {
    fail(Status::kFailed, "in the stream: " + piece.error().message);
  }
}

// Usage counts as told with every chunk if the first that carries something has it.
std::int32_t StreamWatch::tokens_in(const api::ReplyPiece& piece) {
  if (sighting_.chunks == 0) exact_ = piece.token_ids || piece.usage;
  if (!exact_) return 1;
  if (piece.token_ids) return static_cast<std::int32_t>(piece.token_ids->size());
  return piece.usage ? std::max(piece.usage->completion_tokens - counted_, 0) : 1;
}

void StreamWatch::take_piece(const api::ReplyPiece& piece, std::int64_t now_ns) {
  if (piece.carries) {
    measure::RequestRecord& record = sighting_.record;
    const std::int32_t tokens = tokens_in(piece);
    if (record.first_token_ns < 0) record.first_token_ns = now_ns;
    record.last_token_ns = now_ns;
    record.arrivals.push_back({now_ns, tokens});
    counted_ += tokens;
    ++sighting_.chunks;
    if (options_.keep_text) sighting_.text += piece.text;
  }
  if (piece.usage) usage_ = piece.usage;
  if (piece.timings) sighting_.timings = *piece.timings;
  if (!piece.finish_reason.empty()) finish_reason_ = piece.finish_reason;
}

void StreamWatch::take_whole_body(std::int64_t now_ns) {
  sighting_.streamed = false;
  const auto reply = api::read_reply(body_);
  if (!reply) return fail(Status::kFailed, "the answer: " + reply.error().message);
  take_piece(*reply, now_ns);
  said_done_ = true;
}

// What `finish_reason` and usage say now holds for the record.
void StreamWatch::settle_counts() {
  measure::RequestRecord& record = sighting_.record;
  record.output_tokens = counted_;
  record.input_tokens = options_.expected_input_tokens;
  sighting_.usage_told = usage_.has_value();
  if (!usage_) return;
  record.input_tokens = usage_->prompt_tokens;
  record.cached_tokens = usage_->cached_tokens;
  record.output_tokens = usage_->completion_tokens;
  if (exact_ || counted_ == usage_->completion_tokens || record.arrivals.empty()) return;
  sighting_.spread = true;
  const auto chunks = static_cast<std::int32_t>(record.arrivals.size());
  for (std::int32_t i = 0; i < chunks; ++i) {
    // As even as whole numbers allow.
    const auto part = [&](std::int64_t k) { return k * usage_->completion_tokens / chunks; };
    record.arrivals[static_cast<std::size_t>(i)].tokens = static_cast<std::int32_t>(part(i + 1) - part(i));
  }
}

void StreamWatch::note_gaps() {
  measure::RequestRecord& record = sighting_.record;
  const auto& arrivals = record.arrivals;
  if (arrivals.size() < 2) return;
  const std::int64_t mean = (arrivals.back().at_ns - arrivals.front().at_ns) / std::ssize(arrivals);
  for (std::size_t i = 1; i < arrivals.size(); ++i) {
    const std::int64_t gap = arrivals[i].at_ns - arrivals[i - 1].at_ns;
    record.largest_gap_ns = std::max(record.largest_gap_ns, gap);
    sighting_.bunched += gap < kBunchedNs && gap < mean / 10;
  }
}

void StreamWatch::complete() {
  measure::RequestRecord& record = sighting_.record;
  const bool counted = usage_ && usage_->completion_tokens > 0;
  // Tokens without text, as an end of text at once: seen when the answer was over.
  if (record.arrivals.empty() && counted) record.first_token_ns = record.last_token_ns = record.ended_ns;
  if (record.arrivals.empty() && !counted) {
    fail(Status::kFailed, "the answer is empty");
  } else if (event_stream_ && finish_reason_.empty() && !said_done_) {
    fail(Status::kFailed, "the stream ended without finish_reason and [DONE]");
  } else if (finish_reason_ == "error" || finish_reason_ == "abort") {
    fail(Status::kFailed, "finish_reason is " + finish_reason_);
  }
}

void StreamWatch::on_end(client::CallEnd end, const std::string& error, Clock::time_point now) {
  measure::RequestRecord& record = sighting_.record;
  record.ended_ns = since_epoch(now);
  if (http_status_ == 200 && event_stream_) {
    events_.finish([&](std::string_view data) { take_event(data, record.ended_ns); });
  }
  if (end == client::CallEnd::kTimeout) {
    fail(Status::kTimedOut, error);
  } else if (end != client::CallEnd::kDone) {
    fail(Status::kFailed, error);
  } else if (http_status_ != 200) {
    fail(status_of(http_status_, body_), "status " + std::to_string(http_status_) + ": " +
                                             api::error_message_of(body_));
  } else if (!event_stream_) {
    take_whole_body(record.ended_ns);
  }
  if (!failed_) complete();
  settle_counts();
  note_gaps();
  ended_(*this);
}

void StreamWatch::cancel(Clock::time_point now) {
  sighting_.record.ended_ns = since_epoch(now);
  fail(Status::kCancelled, "the run was stopped");
  settle_counts();
  note_gaps();
}

}  // namespace paternoster::bench
