#include "server/exchange.h"

#include <algorithm>
#include <utility>

namespace paternoster::server {
namespace {

using Reply = std::variant<api::StreamReply, api::WholeReply>;

Reply make_reply(const api::Ask& ask, api::ReplyHeading heading) {
  if (ask.stream) return Reply(std::in_place_type<api::StreamReply>, ask, std::move(heading));
  return Reply(std::in_place_type<api::WholeReply>, ask, std::move(heading));
}

template <typename... F>
struct Overloaded : F... {
  using F::operator()...;
};
template <typename... F>
Overloaded(F...) -> Overloaded<F...>;  // clang 16 does not deduce an aggregate of bases

}  // namespace

Exchange::Exchange(api::Ask ask, api::ReplyHeading heading, std::shared_ptr<Connection> connection)
    : ask_(std::move(ask)),
      connection_(std::move(connection)),
      reply_(make_reply(ask_, std::move(heading))) {}

void Exchange::take(std::size_t prompt, api::BackendEvent&& event) {
  if (over_) return;
  auto* stream = std::get_if<api::StreamReply>(&reply_);
  auto* whole = std::get_if<api::WholeReply>(&reply_);
  std::visit(Overloaded{
                 [&](api::Accepted& accepted) {
                   ++accepted_;
                   tokens_ += accepted.prompt_tokens;
                   ahead_ = std::max(ahead_, accepted.ahead);
                   starts_in_ns_ = std::max(starts_in_ns_, accepted.starts_in_ns);
                   stream ? stream->take(prompt, accepted) : whole->take(prompt, accepted);
                 },
                 [&](api::Delta& delta) {
                   answering_ = true;
                   if (!delta.prompt) tokens_ += static_cast<std::int64_t>(delta.token_ids.size());
                   stream ? stream->take(prompt, delta, out_) : whole->take(prompt, std::move(delta));
                 },
                 [&](api::Finished& finished) {
                   stream ? stream->take(prompt, finished, out_) : whole->take(prompt, finished);
                 },
                 [&](api::Done& done) {
                   ++done_;
                   stream ? stream->take(done) : whole->take(done);
                 },
                 [&](api::Refused& refused) { fail(refused.error); },
             },
             event);
}

// How it stood with the queue when the request was accepted.
Headers Exchange::queue_headers() const {
  Headers headers = {{"x-queue-position", std::to_string(ahead_)}};
  if (starts_in_ns_ >= 0) headers.emplace_back("x-estimated-start-ms", std::to_string(starts_in_ns_ / 1'000'000));
  return headers;
}

const std::string& Exchange::owner() const { return ask_.generations.front().standing.owner; }

bool Exchange::may_begin() const {
  if (accepted_ < ask_.generations.size()) return false;
  return answering_ || !ask_.generations.front().standing.timeout_ms;
}

bool Exchange::flush() {
  if (over_) return true;
  const bool admitted = may_begin() || done_ == ask_.generations.size();
  if (ask_.stream && admitted) {
    if (!connection_->streaming()) {
      Headers headers = queue_headers();
      headers.emplace_back("Cache-Control", "no-cache");
      headers.emplace_back("X-Accel-Buffering", "no");
      connection_->begin_stream("text/event-stream", headers);
    }
    connection_->stream(std::exchange(out_, {}));
  }
  if (done_ == ask_.generations.size()) {
    finish();
  } else if (ask_.stream && admitted) {
    connection_->flush();
  }
  return over_;
}

void Exchange::finish() {
  over_ = true;
  const api::Usage& usage =
      std::visit([](const auto& reply) -> const api::Usage& { return reply.usage(); }, reply_);
  connection_->record().note = std::to_string(usage.prompt_tokens) + " prompt tokens, " +
                               std::to_string(usage.completion_tokens) + " generated";
  if (auto* stream = std::get_if<api::StreamReply>(&reply_)) {
    stream->end(out_);
    connection_->stream(out_);
    connection_->end_stream();
  } else {
    Response response;
    response.headers = queue_headers();
    response.body = std::get<api::WholeReply>(reply_).write();
    connection_->respond(std::move(response));
  }
}

void Exchange::fail(const api::ApiError& error) {
  over_ = true;
  connection_->record().note = error.code.empty() ? error.type : error.code;
  if (!connection_->streaming()) {
    connection_->respond(error_response(error));
    return;
  }
  api::StreamReply::fail(error, out_);
  connection_->stream(out_);
  connection_->end_stream();
}

void Exchanges::begin(api::Ask ask, api::ReplyHeading heading,
                      const std::shared_ptr<Connection>& connection, const std::string& request_id) {
  std::vector<api::Generation> generations = ask.generations;
  auto exchange = std::make_shared<Exchange>(std::move(ask), std::move(heading), connection);
  by_connection_[connection.get()] = exchange;
  connection->when_gone([this, raw = connection.get()] { abandon(raw); });
  for (std::size_t prompt = 0; prompt < generations.size(); ++prompt) {
    generations[prompt].request_id = request_id;
    const api::CallId call = backend_.generate(std::move(generations[prompt]));
    exchange->add_call(call);
    by_call_[call] = {exchange, prompt};
  }
}

void Exchanges::take(std::vector<api::BackendEvent>&& events) {
  for (api::BackendEvent& event : events) {
    const auto found = by_call_.find(api::call_of(event));
    if (found == by_call_.end()) continue;
    const Place place = found->second;
    if (auto* refused = std::get_if<api::Refused>(&event);
        refused != nullptr && refused->error.status == 503 && refused->error.retry_after_ms == 0) {
      refused->error.retry_after_ms = retry_after_ms_();
    }
    place.exchange->take(place.prompt, std::move(event));
    if (touched_.empty() || touched_.back() != place.exchange) touched_.push_back(place.exchange);
  }
  for (const auto& exchange : touched_) {
    const bool failed = exchange->over();
    if (exchange->flush() && by_connection_.contains(&exchange->connection())) {
      forget(*exchange, failed);
    }
  }
  touched_.clear();
}

std::size_t Exchanges::stop(const std::string& owner, std::string_view request_id) {
  std::size_t stopped = 0;
  for (const auto& [connection, exchange] : by_connection_) {
    if (connection->record().request_id != request_id || exchange->owner() != owner) continue;
    ++stopped;
    for (const api::CallId call : exchange->calls()) backend_.stop(call);
  }
  return stopped;
}

void Exchanges::fail_all(const api::ApiError& error) {
  while (!by_connection_.empty()) {
    const auto exchange = by_connection_.begin()->second;
    exchange->fail(error);
    forget(*exchange, true);
  }
}

void Exchanges::abandon(Connection* connection) {
  const auto found = by_connection_.find(connection);
  if (found == by_connection_.end()) return;
  const auto exchange = found->second;
  const bool answering = exchange->answering();
  exchange->abandon();
  forget(*exchange, true);
  if (told_) told_(answering);
}

void Exchanges::forget(Exchange& exchange, bool cancel) {
  if (over_) over_(exchange);
  for (const api::CallId call : exchange.calls()) {
    if (cancel) backend_.cancel(call);
    by_call_.erase(call);
  }
  by_connection_.erase(&exchange.connection());
}

}  // namespace paternoster::server
