#include "server/host_guard.h"

#include <gtest/gtest.h>

namespace paternoster::server {
namespace {

TEST(HostGuard, OnLoopbackKnowsThisMachineOnly) {
  const HostGuard guard("127.0.0.1", {"Lift.example"});
  for (const char* host : {"", "localhost", "localhost:8080", "127.0.0.1:8080", "[::1]:8080", "192.168.0.7",
                           "a.localhost", "lift.example:80"}) {
    EXPECT_TRUE(guard.allows(host, "")) << host;
  }
  for (const char* host : {"evil.example", "127.0.0.1.evil.example", "localhost.evil.example:8080"}) {
    EXPECT_FALSE(guard.allows(host, "")) << host;
  }
}

TEST(HostGuard, OnOtherAddressesTakesAnyHost) {
  EXPECT_TRUE(HostGuard("0.0.0.0", {}).allows("any.example", ""));
}

TEST(HostGuard, TakesItsOwnOriginOnly) {
  const HostGuard guard("0.0.0.0", {});
  EXPECT_TRUE(guard.allows("a.example:8080", "http://a.example:8080"));
  EXPECT_TRUE(guard.allows("a.example", "https://A.example"));
  for (const char* origin : {"null", "http://b.example", "http://a.example:81", "http://a.example.b"}) {
    EXPECT_FALSE(guard.allows("a.example", origin)) << origin;
  }
}

}  // namespace
}  // namespace paternoster::server
