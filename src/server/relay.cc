#include "server/relay.h"

#include <boost/asio/post.hpp>
#include <iterator>
#include <utility>

namespace paternoster::server {

Relay::Relay(boost::asio::io_context& context, TakeEvents take_events, TakeFrame take_frame,
             TakeList take_list)
    : context_(context), take_events_(std::move(take_events)), take_frame_(std::move(take_frame)),
      take_list_(std::move(take_list)) {}

void Relay::deliver(std::vector<api::BackendEvent>&& events) {
  const std::lock_guard lock(mutex_);
  if (events_.empty()) {
    events_ = std::move(events);
  } else {
    events_.insert(events_.end(), std::make_move_iterator(events.begin()),
                   std::make_move_iterator(events.end()));
  }
  wake();
}

void Relay::show(api::LiveFrame&& frame) {
  const std::lock_guard lock(mutex_);
  frame_ = std::move(frame);
  wake();
}

void Relay::list(std::vector<api::RequestStatus>&& requests) {
  const std::lock_guard lock(mutex_);
  requests_ = std::move(requests);
  wake();
}

void Relay::wake() {
  if (std::exchange(woken_, true)) return;
  boost::asio::post(context_, [this] { drain(); });
}

void Relay::drain() {
  std::vector<api::BackendEvent> events;
  std::optional<api::LiveFrame> frame;
  std::optional<std::vector<api::RequestStatus>> requests;
  {
    const std::lock_guard lock(mutex_);
    events.swap(events_);
    frame.swap(frame_);
    requests.swap(requests_);
    woken_ = false;
  }
  if (!events.empty()) take_events_(std::move(events));
  if (frame) take_frame_(*frame);
  if (requests) take_list_(std::move(*requests));
}

}  // namespace paternoster::server
