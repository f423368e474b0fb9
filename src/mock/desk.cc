#include "mock/desk.h"

#include <algorithm>

namespace paternoster::mock {

namespace asio = boost::asio;

namespace {

using Clock = std::chrono::steady_clock;
constexpr std::size_t kMostKept = 1'000'000;

std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

Clock::time_point time_of(std::int64_t ns) { return Clock::time_point(std::chrono::nanoseconds(ns)); }

}  // namespace

struct Desk::Guest {
  Guest(asio::io_context& context, std::shared_ptr<Connection> who, api::Ask what)
      : connection(std::move(who)), ask(std::move(what)), timer(context) {}

  std::shared_ptr<Connection> connection;
  api::Ask ask;
  asio::steady_timer timer;
  Script script;
  std::size_t next = 0;  // of the script's departures
  bool seated = false;
  bool gone = false;
  MockRequest record;
};

void Desk::take(const std::shared_ptr<Connection>& connection, api::Ask ask, std::string request_id) {
  const std::int64_t number = ++numbered_;
  const auto guest = std::make_shared<Guest>(context_, connection, std::move(ask));
  guest->record.wish = guest->ask.wish;
  guest->record.number = number;
  guest->record.request_id = std::move(request_id);
  guest->record.arrived_ns = now_ns();
  const Fault* fault = fault_of(options_, number);
  if (fault != nullptr && fault->kind == FaultKind::kRefuse) {
    keep(guest->record);
    connection->respond(server::error_response(
        api::other_error(fault->status, "overloaded_error", "told_to", "the mock refuses, as it was told to")));
    return;
  }
  present_.insert(guest);
  // Not held by its connection, which it holds.
  connection->when_gone([this, weak = std::weak_ptr(guest)] {
    if (const auto who = weak.lock()) leave(who);
  });
  if (options_.seats > 0 && running_ >= static_cast<std::size_t>(options_.seats)) {
    waiting_.push_back(guest);
  } else {
    seat(guest);
  }
}

void Desk::seat(const std::shared_ptr<Guest>& guest) {
  ++running_;
  guest->seated = true;
  MockRequest& record = guest->record;
  record.seated_ns = now_ns();
  guest->script = write_script(options_, guest->ask,
                               {record.number, record.seated_ns - record.arrived_ns, std::time(nullptr)});
  record.prompt_tokens = guest->script.prompt_tokens;
  prompt_tokens_ += record.prompt_tokens;
  if (guest->ask.stream) guest->connection->begin_stream();
  play(guest);
}

// Sends all that is due, then sleeps until the next is.
void Desk::play(const std::shared_ptr<Guest>& guest) {
  if (guest->gone) return;
  while (guest->next < guest->script.departures.size()) {
    const Departure& departure = guest->script.departures[guest->next];
    const std::int64_t due_ns = guest->record.seated_ns + departure.after_seat_ns;
    if (now_ns() < due_ns) {
      guest->timer.expires_at(time_of(due_ns));
      guest->timer.async_wait([this, guest](boost::system::error_code cancelled) {
        if (!cancelled) play(guest);
      });
      return;
    }
    ++guest->next;
    depart(*guest, departure, due_ns);
  }
  finish(guest);
}

void Desk::depart(Guest& guest, const Departure& departure, std::int64_t due_ns) {
  MockRequest& record = guest.record;
  const std::int64_t now = now_ns();
  record.late_ns = std::max(record.late_ns, now - due_ns);
  if (departure.tokens > 0) {
    if (record.first_ns < 0) record.first_ns = now;
    record.last_ns = now;
    record.output_tokens += departure.tokens;
    output_tokens_ += departure.tokens;
  }
  if (guest.ask.stream) {
    guest.connection->stream(departure.bytes);
  } else if (guest.script.ending == Ending::kWhole) {
    server::Response response;
    response.body = departure.bytes;
    guest.connection->respond(response);
  }
}

void Desk::finish(const std::shared_ptr<Guest>& guest) {
  if (guest->script.ending == Ending::kSilent) return;  // sits there until the client goes
  guest->gone = true;
  present_.erase(guest);
  keep(guest->record);
  if (guest->script.ending == Ending::kCut) {
    guest->connection->cut();
  } else if (guest->ask.stream) {
    guest->connection->end_stream();
  }
  --running_;
  while (!waiting_.empty() && running_ < static_cast<std::size_t>(options_.seats)) {
    const auto next = waiting_.front();
    waiting_.pop_front();
    seat(next);
  }
}

void Desk::leave(const std::shared_ptr<Guest>& guest) {
  if (guest->gone) return;
  guest->gone = true;
  present_.erase(guest);
  guest->timer.cancel();
  guest->record.abandoned = true;
  keep(guest->record);
  if (!guest->seated) {
    std::erase(waiting_, guest);
    return;
  }
  --running_;
  if (!waiting_.empty()) {
    const auto next = waiting_.front();
    waiting_.pop_front();
    seat(next);
  }
}

void Desk::keep(const MockRequest& record) {
  if (over_.size() < kMostKept) over_.push_back(record);
}

}  // namespace paternoster::mock
