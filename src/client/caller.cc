#include "client/caller.h"

#include <array>

namespace paternoster::client {

namespace asio = boost::asio;

namespace {

constexpr std::chrono::milliseconds kTick{50};
constexpr std::chrono::seconds kKeptFor{30};
constexpr std::size_t kReadBytes = 16 * 1024;

// What a person wrote may not end the header's line.
void append_header(std::string& out, std::string_view name, std::string_view value) {
  out += name;
  out += ": ";
  for (const char c : value) {
    if (static_cast<unsigned char>(c) >= 0x20) out += c;
  }
  out += "\r\n";
}

}  // namespace

// One call: connect or take a kept connection, send, read. Kept alive by its own callbacks; once
// `over_`, they do nothing.
class Caller::Exchange : public std::enable_shared_from_this<Exchange> {
 public:
  Exchange(Caller& caller, CallId id, std::string request, CallListener& listener)
      : caller_(caller), id_(id), request_(std::move(request)), listener_(listener), began_(Clock::now()) {}

  void start();
  void abandon();
  void check_time(Clock::time_point now);
  bool over() const { return over_; }

 private:
  void connect();
  void send();
  void read();
  void on_read(SocketError error, std::size_t bytes);
  void take(std::string_view bytes, Clock::time_point now);
  bool resend();
  void finish(CallEnd end, const std::string& error, Clock::time_point now);

  Caller& caller_;
  CallId id_;
  std::string request_;
  CallListener& listener_;
  Clock::time_point began_;
  Clock::time_point progress_;  // connecting began, or the last byte came
  std::shared_ptr<Transport> transport_;
  ResponseReader reader_;
  std::array<char, kReadBytes> room_;
  bool reused_ = false;
  bool connected_ = false;
  bool head_told_ = false;
  bool over_ = false;
};

void Caller::Exchange::start() {
  transport_ = caller_.take_idle();
  reused_ = transport_ != nullptr;
  if (reused_) {
    ++caller_.counts_.reused;
    // Not from within `start`: the listener's owner may not be ready to hear yet.
    asio::post(caller_.context_, [self = shared_from_this()] {
      if (!self->over_) self->send();
    });
  } else {
    connect();
  }
}

void Caller::Exchange::connect() {
  ++caller_.counts_.opened;
  connected_ = false;
  progress_ = Clock::now();
  transport_ = make_transport(caller_.context_, caller_.options_.url, caller_.tls_);
  transport_->connect(caller_.endpoints_, [self = shared_from_this()](SocketError error) {
    if (self->over_) return;
    if (error) {
      self->finish(CallEnd::kUnreachable, "cannot connect to " + to_string(self->caller_.options_.url) + ": " +
                                              error.message(), Clock::now());
    } else {
      self->send();
    }
  });
}

void Caller::Exchange::send() {
  connected_ = true;
  progress_ = Clock::now();
  listener_.on_sending(progress_);
  if (over_) return;
  // A failure to write shows in reading too, and there the server may have said why.
  transport_->write(request_, [self = shared_from_this()](SocketError) {});
  read();
}

void Caller::Exchange::read() {
  transport_->read_some(room_, [self = shared_from_this()](SocketError error, std::size_t bytes) {
    if (!self->over_) self->on_read(error, bytes);
  });
}

void Caller::Exchange::on_read(SocketError error, std::size_t bytes) {
  const Clock::time_point now = Clock::now();
  progress_ = now;
  if (bytes > 0) {
    take({room_.data(), bytes}, now);
    if (!over_) read();
    return;
  }
  if (!reader_.begun() && resend()) return;
  if (reader_.end() == ResponseReader::Status::kDone) {
    finish(CallEnd::kDone, "", now);
  } else if (error == asio::error::eof) {
    finish(CallEnd::kDisconnected, reader_.error(), now);
  } else {
    finish(CallEnd::kDisconnected, reader_.error() + " (" + error.message() + ")", now);
  }
}

void Caller::Exchange::take(std::string_view bytes, Clock::time_point now) {
  const auto tell_head = [&] {
    if (head_told_ || !reader_.head_done()) return;
    head_told_ = true;
    listener_.on_head(reader_.head(), now);
  };
  const auto status = reader_.feed(bytes, [&](std::string_view body) {
    if (!over_) tell_head();
    if (!over_) listener_.on_body(body, now);
  });
  if (!over_) tell_head();
  if (over_) return;
  if (status == ResponseReader::Status::kDone) finish(CallEnd::kDone, "", now);
  if (status == ResponseReader::Status::kBad) finish(CallEnd::kBadAnswer, reader_.error(), now);
}

bool Caller::Exchange::resend() {
  if (!reused_) return false;
  reused_ = false;
  ++caller_.counts_.resent;
  transport_->close();
  connect();
  return true;
}

void Caller::Exchange::check_time(Clock::time_point now) {
  const CallerOptions& options = caller_.options_;
  const auto passed = [](std::chrono::milliseconds limit) {
    return std::to_string(limit.count() / 1000) + " s";
  };
  if (!connected_ && !reused_ && now - progress_ > options.connect_timeout) {
    finish(CallEnd::kUnreachable, "no connection within " + passed(options.connect_timeout), now);
  } else if (connected_ && now - progress_ > options.silence_timeout) {
    finish(CallEnd::kTimeout, "nothing came for " + passed(options.silence_timeout), now);
  } else if (options.total_timeout.count() > 0 && now - began_ > options.total_timeout) {
    finish(CallEnd::kTimeout, "not done within " + passed(options.total_timeout), now);
  }
}

void Caller::Exchange::finish(CallEnd end, const std::string& error, Clock::time_point now) {
  const auto self = shared_from_this();  // the book below holds us no longer
  over_ = true;
  caller_.exchanges_.erase(id_);
  if (end == CallEnd::kDone && reader_.head().keep_alive) {
    caller_.keep(std::move(transport_));
  } else if (transport_ != nullptr) {
    transport_->close();
  }
  listener_.on_end(end, error, now);
}

void Caller::Exchange::abandon() {
  over_ = true;
  if (transport_ != nullptr) transport_->close();
}

Result<std::unique_ptr<Caller>> Caller::create(asio::io_context& context, CallerOptions options) {
  auto endpoints = resolve(options.url);
  if (!endpoints) return std::unexpected(endpoints.error());
  return std::unique_ptr<Caller>(new Caller(context, std::move(options), std::move(*endpoints)));
}

Caller::Caller(asio::io_context& context, CallerOptions options, Endpoints endpoints)
    : context_(context),
      options_(std::move(options)),
      endpoints_(std::move(endpoints)),
      tls_(options_.url.tls ? make_tls(options_.verify_tls) : nullptr),
      ticker_(std::make_shared<asio::steady_timer>(context)) {}

Caller::~Caller() {
  for (const auto& [id, exchange] : exchanges_) exchange->abandon();
  for (const auto& [transport, since] : idle_) transport->close();
}

CallId Caller::start(Call call, CallListener& listener) {
  const CallId id{++last_id_};
  const auto exchange = std::make_shared<Exchange>(*this, id, request_bytes(call), listener);
  exchanges_.emplace(id, exchange);
  exchange->start();
  if (!ticking_) tick();
  return id;
}

void Caller::cancel(CallId call) {
  const auto found = exchanges_.find(call);
  if (found == exchanges_.end()) return;
  const auto exchange = found->second;
  exchanges_.erase(found);
  exchange->abandon();
}

std::shared_ptr<Transport> Caller::take_idle() {
  if (idle_.empty()) return nullptr;
  auto transport = std::move(idle_.back().first);
  idle_.pop_back();
  return transport;
}

void Caller::keep(std::shared_ptr<Transport> transport) { idle_.emplace_back(std::move(transport), Clock::now()); }

std::string Caller::request_bytes(const Call& call) const {
  std::string out = call.method + " " + options_.url.path + call.path + " HTTP/1.1\r\n";
  append_header(out, "Host", host_header(options_.url));
  append_header(out, "User-Agent", "paternoster");
  if (!call.body.empty()) {
    append_header(out, "Content-Type", "application/json");
    append_header(out, "Content-Length", std::to_string(call.body.size()));
  }
  const std::string& key = call.api_key.empty() ? options_.api_key : call.api_key;
  if (!key.empty()) append_header(out, "Authorization", "Bearer " + key);
  for (const auto& [name, value] : call.headers) append_header(out, name, value);
  out += "\r\n";
  out += call.body;
  return out;
}

// Deadlines need no more than this, and only while somebody waits.
void Caller::tick() {
  ticking_ = true;
  ticker_->expires_after(kTick);
  ticker_->async_wait([this, alive = std::weak_ptr(ticker_)](SocketError cancelled) {
    if (cancelled || alive.expired()) return;
    const Clock::time_point now = Clock::now();
    std::vector<std::shared_ptr<Exchange>> all;
    all.reserve(exchanges_.size());
    for (const auto& [id, exchange] : exchanges_) all.push_back(exchange);
    for (const auto& exchange : all) {
      if (!exchange->over()) exchange->check_time(now);
    }
    while (!idle_.empty() && now - idle_.front().second > kKeptFor) {
      idle_.front().first->close();
      idle_.erase(idle_.begin());
    }
    ticking_ = false;
    if (!exchanges_.empty()) tick();
  });
}

}  // namespace paternoster::client
