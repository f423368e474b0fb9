#include "client/event_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace paternoster::client {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Everything that comes of `stream` cut into pieces of `piece` bytes.
std::vector<std::string> events_of(std::string_view stream, std::size_t piece) {
  EventReader reader;
  std::vector<std::string> events;
  const auto take = [&](std::string_view data) { events.emplace_back(data); };
  for (; !stream.empty(); stream.remove_prefix(std::min(piece, stream.size()))) {
    reader.push(stream.substr(0, piece), take);
  }
  reader.finish(take);
  return events;
}

TEST(EventReader, GivesTheSameEventsHoweverTheBytesAreCut) {
  const std::string_view stream =
      "\xEF\xBB\xBF" "data: {\"a\":1}\n\n: ping\n\ndata:b\r\n\r\nevent: x\rdata: c\rdata\rdata: d\r\r"
      "id: 7\n\ndata: [DONE]\n\n";
  for (std::size_t piece = 1; piece <= stream.size(); ++piece) {
    ASSERT_THAT(events_of(stream, piece), ElementsAre("{\"a\":1}", "b", "c\n\nd", "[DONE]")) << piece;
  }
}

TEST(EventReader, AnEventThatTheEndCutsOffIsTold) {
  EXPECT_THAT(events_of("data: a\n\ndata: [DONE]", 3), ElementsAre("a", "[DONE]"));
  EXPECT_THAT(events_of("data: a\n\ndata: [DONE]\n", 3), ElementsAre("a", "[DONE]"));
}

TEST(EventReader, CommentsAndEventsWithoutDataAreNone) {
  EventReader reader;
  std::vector<std::string> events;
  reader.push(": ping\n\nevent: error\n\n\n\nretry: 10\n\n", [&](std::string_view data) { events.emplace_back(data); });
  EXPECT_THAT(events, IsEmpty());
  EXPECT_EQ(reader.comments(), 1);
}

TEST(EventReader, AnEmptyDataLineIsAnEvent) { EXPECT_THAT(events_of("data:\n\n", 2), ElementsAre("")); }

TEST(EventReader, AnEndlessLineIsAnErrorAndNotAllOfMemory) {
  EventReader reader;
  const std::string line(1 << 20, 'x');
  int events = 0;
  for (int i = 0; i < 64; ++i) reader.push(line, [&](std::string_view) { ++events; });
  reader.finish([&](std::string_view) { ++events; });
  EXPECT_TRUE(reader.overflowed());
  EXPECT_EQ(events, 0);
}

}  // namespace
}  // namespace paternoster::client
